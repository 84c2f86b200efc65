// Tests runtime/tuner/plan.cpp: valid and invalid plans.

#include "plan.h"

#include <doctest/doctest.h>

#include <sstream>
#include <stdexcept>

using namespace tritonc::tuner;

namespace {

std::vector<Problem> read(const std::string &text) {
  std::istringstream in(text);
  return read_plan(in);
}

} // namespace

TEST_CASE("read_plan: each line is a problem") {
  std::vector<Problem> problems = read(
      "problem\tmatmul\tTYPE=half A=N\tK=64 M=32\tA=2048 K=64 M=32\n\nproblem\tadd\t\t\tn=-5\n");
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].kernel == "matmul");
  CHECK(problems[0].types == "TYPE=half A=N");
  CHECK(problems[0].name == "K=64 M=32");
  CHECK(problems[0].arguments ==
        std::map<std::string, std::int64_t>{{"A", 2048}, {"K", 64}, {"M", 32}});
  CHECK(problems[1].types == "");
  CHECK(problems[1].arguments.at("n") == -5);
  CHECK(read("").empty());
}

TEST_CASE("read_plan: error names the line") {
  const struct {
    const char *text, *why;
  } rows[] = {
      {"hello\n", "line 1 of the plan: expected a problem of five fields"},
      {"\nproblem\ta\tb\tc\n", "line 2 of the plan: expected a problem"},
      {"problem\ta\tb\tc\tn\n", "`n` is not NAME=INTEGER"},
      {"problem\ta\tb\tc\tn=\n", "`n=` is not NAME=INTEGER"},
      {"problem\ta\tb\tc\tn=4x\n", "`n=4x` is not NAME=INTEGER"},
      {"problem\ta\tb\tc\tn=99999999999999999999\n", "is not NAME=INTEGER"},
  };
  for (const auto &row : rows) {
    CAPTURE(row.text);
    std::string why;
    try {
      read(row.text);
    } catch (const std::runtime_error &error) {
      why = error.what();
    }
    CHECK(why.find(row.why) != std::string::npos);
  }
}
