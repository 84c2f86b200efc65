// Tests generator/tune/problem_sizes.cpp: the problems, and the arguments computed from them.

#include "tune/problem_sizes.h"

#include "support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;

namespace {

const TunerKernel matmul = {
    "matmul", "TYPE=half", "const f16 *A, f16 *C, i32 M, i32 K, i32 lda, f32 scale", {}};
const TunerKernel add = {"add", "", "f16 *x, f16 *bias = null, i32 n", {}};

// The lines of the plan, or the error.
std::string plan_of(const std::vector<std::string> &texts, const std::vector<TunerKernel> &kernels,
                    const Draw &draw = {}) {
  std::vector<ProblemClauses> said;
  for (const std::string &text : texts) {
    Result<ProblemClauses> clauses = parse_problems(text);
    if (!clauses)
      return tritonc::text(clauses.error());
    said.push_back(*clauses);
  }
  Result<std::vector<PlannedProblem>> problems = plan_problems(said, kernels, draw);
  if (!problems)
    return tritonc::text(problems.error());
  std::string lines;
  for (const PlannedProblem &problem : *problems)
    lines += problem.line();
  return lines;
}

std::string sizes_of(const std::string &text, const Draw &draw = {}) {
  std::vector<ProblemClauses> said = {*parse_problems("x=n;" + text)};
  Result<std::vector<PlannedProblem>> problems = plan_problems(said, {add}, draw);
  if (!problems)
    return tritonc::text(problems.error());
  std::string sizes;
  for (const PlannedProblem &problem : *problems)
    sizes += std::to_string(problem.problem.at("n")) + " ";
  return sizes;
}

} // namespace

TEST_CASE("plan_problems: all combinations, with computed arguments") {
  CHECK(plan_of({"M=64,128; K=32,64; lda=K; A=M*lda; C=M*M; scale=1"}, {matmul}) ==
        "problem\tmatmul\tTYPE=half\tK=32 M=64\tA=2048 C=4096 K=32 M=64 lda=32 scale=1\n"
        "problem\tmatmul\tTYPE=half\tK=64 M=64\tA=4096 C=4096 K=64 M=64 lda=64 scale=1\n"
        "problem\tmatmul\tTYPE=half\tK=32 M=128\tA=4096 C=16384 K=32 M=128 lda=32 scale=1\n"
        "problem\tmatmul\tTYPE=half\tK=64 M=128\tA=8192 C=16384 K=64 M=128 lda=64 scale=1\n");
  // Clauses in any order; several names in a clause; no value for a nullable pointer.
  CHECK(plan_of({"A=C; C=M*lda; lda=(K+7)/8*8; scale=2; M,K=9"}, {matmul}) ==
        "problem\tmatmul\tTYPE=half\tK=9 M=9\tA=144 C=144 K=9 M=9 lda=16 scale=2\n");
  CHECK(plan_of({"n=5;x=n"}, {add}) == "problem\tadd\t\tn=5\tn=5 x=5\n");
  CHECK(plan_of({"n=5;x=n;bias=n"}, {add}) == "problem\tadd\t\tn=5\tbias=5 n=5 x=5\n");
}

TEST_CASE("plan_problems: a value must fit the parameter's type") {
  const std::string max_value = "2147483647", too_large = "2147483648";
  CHECK(plan_of({"x=1;n=" + max_value}, {add}) ==
        "problem\tadd\t\tn=" + max_value + "\tn=" + max_value + " x=1\n");
  CHECK(plan_of({"x=1;n=" + too_large}, {add}) ==
        "error: problems of `add`: n=" + too_large + " does not fit the type i32");
  CHECK(plan_of({"M=" + max_value + ";K=1;lda=M+K;A,C=1;scale=1"}, {matmul}) ==
        "error: problems of `matmul`: lda=" + too_large + " does not fit the type i32");
}

TEST_CASE("plan_problems: a pointer has 0 to 2^40 elements") {
  const std::string max_value = "1099511627776", too_large = "1099511627777";
  CHECK(plan_of({"n=1;x=" + max_value}, {add}) == "problem\tadd\t\tn=1\tn=1 x=" + max_value + "\n");
  CHECK(plan_of({"n=1;x=0"}, {add}) == "problem\tadd\t\tn=1\tn=1 x=0\n");
  for (const std::string &count :
       {too_large, std::string("-1"), std::string("9223372036854775807")})
    CHECK(plan_of({"n=1;x=" + count}, {add}) == "error: problems of `add`: `x` cannot have " +
                                                    count + " elements, only 0 to " + max_value);
  CHECK(plan_of({"n=1;x=1;bias=" + too_large}, {add}).find("`bias` cannot have") !=
        std::string::npos);
  CHECK(
      plan_of({"n=2147483647;x=n*n"}, {add}).find("`x` cannot have 4611686014132420609 elements") !=
      std::string::npos);
  CHECK(plan_of({"n=2147483647;x=n*n*n"}, {add}).find("in 64 bits") != std::string::npos);
}

TEST_CASE("plan_problems: range gives its lower end and the doubles") {
  CHECK(sizes_of("n=64..512") == "64 128 256 512 ");
  CHECK(sizes_of("n=100..500:64") == "128 256 448 ");
  CHECK(sizes_of("n=7..7") == "7 ");
  CHECK(sizes_of("n=3,8..20,5") == "3 8 16 5 ");
}

TEST_CASE("plan_problems: ends and steps of ranges are at most 2^60") {
  const TunerKernel large = {"large", "", "i64 n", {}};
  const std::string max_value = "1152921504606846976", too_large = "1152921504606846977";
  std::string all = plan_of({"n=1.." + max_value}, {large});
  CHECK(std::count(all.begin(), all.end(), '\n') == 61);
  CHECK(all.find("n=" + max_value + "\n") != std::string::npos);
  CHECK(plan_of({"n=1..2:" + max_value}, {large}) ==
        "problem\tlarge\t\tn=" + max_value + "\tn=" + max_value + "\n");
  CHECK(plan_of({"n=1.." + max_value + ":" + max_value}, {large}, {5, 1}) ==
        "problem\tlarge\t\tn=" + max_value + "\tn=" + max_value + "\n");
  const std::string why =
      ": expected a range FIRST..LAST or FIRST..LAST:STEP of positive integers up "
      "to " +
      max_value + ", with FIRST at most LAST";
  for (const std::string &range :
       {"1.." + too_large, std::string("1..9223372036854775807"), "1..2:" + too_large,
        std::string("5..4"), std::string("0..4"), std::string("1..4:0"), std::string("1..")})
    CHECK(plan_of({"n=" + range}, {large}) ==
          "error: cannot read problems from `n=" + range + "`" + why);
}

TEST_CASE("plan_problems: random problems depend only on the seed") {
  std::string some = sizes_of("n=64..4096:32", {20, 1});
  CHECK(some == sizes_of("n=64..4096:32", {20, 1}));
  CHECK(some != sizes_of("n=64..4096:32", {20, 2}));
  int count = 0, small = 0;
  for (size_t begin = 0; begin < some.size(); begin = some.find(' ', begin) + 1, count++) {
    int n = std::stoi(some.substr(begin));
    CHECK(n >= 64);
    CHECK(n <= 4096);
    CHECK(n % 32 == 0);
    small += n < 512; // the middle on a log scale
  }
  CHECK(count >= 15); // duplicates are removed
  CHECK(small >= 4);
  CHECK(small <= 16);
  CHECK(sizes_of("n=5,6", {40, 1}).size() == 4);
}

TEST_CASE("plan_problems: [kernel] replaces the general values") {
  CHECK(plan_of({"n=5;x=n;[add]n=6;[matmul]M,K=1"}, {add}) ==
        "error: unknown kernel `matmul`; known kernels: add");
  CHECK(plan_of({"M,K=1;lda,A,C,scale=K;n=5;x=n;[add]n=6;[matmul]M=2"}, {matmul, add}) ==
        "problem\tmatmul\tTYPE=half\tK=1 M=2\tA=1 C=1 K=1 M=2 lda=1 scale=1\n"
        "problem\tadd\t\tn=6\tn=6 x=6\n");
}

TEST_CASE("parse_problems, plan_problems: report errors") {
  const struct {
    std::string text, error;
  } rows[] = {
      {"n", "cannot read problems from `n`: expected NAME,NAME=VALUE,VALUE"},
      {"n=", "expected NAME,NAME"},
      {"n=4,n*2;x=n", "cannot read problems from `n=4,n*2`: expected integers and ranges"},
      {"n=4;x=n*", "expected an axis, a value or `(`, found the end"},
      {"n=4", "problems give no value for `x` of `add`, which takes (f16 *x, f16 *bias = null, i32 "
              "n); give its number of elements, as in x=M*N"},
      {"x=4", "problems give no value for `n` of `add`"},
      {"n=4;x=n;N=5", "unknown parameter `N` in the problems; parameters of the tuner's kernels: "
                      "bias, n, x"},
      {"n=x;x=n", "problems of `add`: cannot compute `x`, which depends on itself"},
      {"n=4;x=n/0", "cannot compute"},
  };
  for (const auto &row : rows) {
    CAPTURE(row.text);
    CHECK(plan_of({row.text}, {add}).find(row.error) != std::string::npos);
  }
  TunerKernel large = {"large", "", "i32 a, i32 b, i32 c, i32 d", {}};
  CHECK(plan_of({"a,b,c,d=1..1000000"}, {large})
            .find("too many problems of `large`: more than 100000, but at most 100000 per call; "
                  "draw some of them with --random") != std::string::npos);
}

TEST_CASE("read_problem_file: reads the same problems from JSON") {
  TemporaryFolder files;
  files.write("p.json", R"([{"kernel": "add", "n": [4, "16..64"], "x": "n"},
                          {"kernel": "matmul", "M,K": 8, "lda,A,C,scale": "K"}])");
  Result<std::vector<ProblemClauses>> said = read_problem_file(files.path("p.json"));
  REQUIRE(said);
  Result<std::vector<PlannedProblem>> problems = plan_problems(*said, {add, matmul}, {});
  REQUIRE(problems);
  REQUIRE(problems->size() == 5);
  CHECK(text_of((*problems)[3].problem) == "n=64");
  CHECK(text_of((*problems)[4].problem) == "K=8 M=8");

  files.write("p.json", R"([{"arch": "sm_90", "n": 4}])");
  CHECK(text(read_problem_file(files.path("p.json")).error()).find("`arch`") != std::string::npos);
}
