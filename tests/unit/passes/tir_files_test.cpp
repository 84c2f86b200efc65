// Runs the cases of tir_case.h in the folders beside this file, and tests the mechanism itself.
// This test reads the source tree. `-tc="tir files*" -sc="form_views/*"` runs the cases of one pass.

#include "ir/parser.h"
#include "passes/pipeline.h"
#include "support/contains.h"
#include "support/temporary_folder.h"
#include "unit/passes/run_pass.h"
#include "unit/passes/tir_case.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

using namespace tritonc;
using namespace tritonc::test;

namespace {

const std::filesystem::path folder = std::filesystem::path(TRITONC_TESTS_DIR) / "unit" / "passes";

const std::vector<TirCase> &all_cases() {
  static const std::vector<TirCase> cases = tir_cases(folder);
  return cases;
}

bool is_pass(const std::string &name) {
  std::vector<std::string_view> names = pass_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_update() {
  const char *update = std::getenv("TRITONC_UPDATE");
  return update && std::string(update) == "1";
}

} // namespace

TEST_CASE("tir files: each pass turns its inputs into the expected outputs") {
  for (const TirCase &one : all_cases()) {
    std::string name = one.pass + "/" + one.name;
    SUBCASE(name.c_str()) {
      std::string problem = problem_of(one, is_update());
      CHECK_MESSAGE(problem.empty(), problem);
    }
  }
}

TEST_CASE("tir files: each folder is a pass, each file belongs to a case") {
  CHECK(all_cases().size() > 100);
  for (const TirCase &one : all_cases()) {
    CAPTURE(one.input.string());
    CHECK(is_pass(one.pass));
  }
  for (const std::filesystem::path &file : stray_files(folder))
    FAIL_CHECK(file.string() << ": no case has this file");
}

TEST_CASE("tir files: each pass has a case with and one without a change") {
  for (std::string_view pass : pass_names()) {
    CAPTURE(std::string(pass));
    for (bool unchanged : {false, true}) {
      CAPTURE(unchanged);
      CHECK(std::any_of(all_cases().begin(), all_cases().end(), [&](const TirCase &one) {
        return one.pass == pass && is_unchanged(one) == unchanged;
      }));
    }
  }
}

TEST_CASE("run_pass: knows every pass of the pipeline, and no other name") {
  for (std::string_view pass : pass_names()) {
    CAPTURE(std::string(pass));
    ir::Function nothing = std::move(*ir::parse("func @nothing() {\n return\n}").function);
    CHECK(run_pass(pass, nothing, *find_gpu("80"), Schedule{}));
  }
  ir::Function nothing = std::move(*ir::parse("func @nothing() {\n return\n}").function);
  CHECK_FALSE(run_pass("remove_code", nothing, *find_gpu("80"), Schedule{}));
}

// --- The mechanism -------------------------------------------------------------------------------

namespace {

const std::string dead =
    "// Removes %y.\nfunc @f(%x: i32) {\n  %y = add %x, %x : i32\n  return\n}\n";
const std::string clean = "func @f(%x: i32) {\n  return\n}\n";

// The problem of the one case below `root`.
std::string problem_in(const TemporaryFolder &root, bool renew = false) {
  std::vector<TirCase> cases = tir_cases(root.path());
  REQUIRE(cases.size() == 1);
  return problem_of(cases[0], renew);
}

// The problem of a case of remove_dead_code.
std::string problem_with(const std::string &input, const std::string &expected) {
  TemporaryFolder root;
  root.write("remove_dead_code/case.tir", input);
  if (!expected.empty())
    root.write("remove_dead_code/case.expected.tir", expected);
  return problem_in(root);
}

} // namespace

TEST_CASE("problem_of: accepts the expected output") {
  CHECK(problem_with(dead, clean) == "");
  CHECK(problem_with("// Nothing is dead.\n// unchanged\n" + clean, "") == "");
}

TEST_CASE("problem_of: shows the lines that differ") {
  std::string problem =
      problem_with(dead, "func @f(%x: i32) {\n  %z = neg %x : i32\n  return\n}\n");
  CHECK(contains(problem, "remove_dead_code/case.tir: the output differs"));
  CHECK(contains(problem, "line 2\n  func @f(%x: i32) {\n-   %z = neg %x : i32\n    return\n"));
  CHECK(contains(problem, "TRITONC_UPDATE=1"));
}

TEST_CASE("problem_of: rejects a case without an expected file") {
  std::string problem = problem_with(dead, "");
  CHECK(contains(problem, "case.expected.tir is missing"));
  CHECK(contains(problem, "TRITONC_UPDATE=1"));
}

TEST_CASE("problem_of: rejects a change of an unchanged case") {
  std::string problem = problem_with("// Nothing is dead.\n// unchanged\n" + dead, "");
  CHECK(contains(problem, "the case is `unchanged`, but the pass changes the function"));
  CHECK(contains(problem, "-   %y = add %x, %x : i32"));
  CHECK(contains(problem_with("// Nothing is dead.\n// unchanged\n" + clean, clean),
                 "remove case.expected.tir"));
}

TEST_CASE("problem_of: rejects a case in which nothing happens") {
  CHECK(contains(problem_with("// Removes nothing.\n" + clean, clean),
                 "add the line `// unchanged`"));
}

TEST_CASE("problem_of: rejects a folder that is no pass") {
  TemporaryFolder root;
  root.write("remove_code/case.tir", dead);
  CHECK(contains(problem_in(root), "no pass has the name `remove_code`"));
}

TEST_CASE("problem_of: rejects unknown directives and missing descriptions") {
  CHECK(contains(problem_with("// Removes %y.\n// gpus: 80\n" + clean, ""),
                 "cannot use `// gpus: 80`"));
  for (const char *directive :
       {"gpu: 1", "max_shared_bytes: few", "schedule: fast", "schedule: baseline, k_tile"}) {
    CAPTURE(directive);
    CHECK(contains(problem_with(std::string("// Removes %y.\n// ") + directive + "\n" + clean, ""),
                   "cannot use"));
  }
  CHECK(contains(problem_with(clean, ""), "says what the case shows"));
  CHECK(contains(problem_with("// unchanged\n" + clean, ""), "says what the case shows"));
}

TEST_CASE("problem_of: rejects invalid tile IR, with the line of the file") {
  CHECK(contains(problem_with("// Removes %y.\nfunc @f() {\n  what\n}\n", ""),
                 "line 3: unknown operation `what`"));
  CHECK(contains(problem_with("// Removes %y.\nfunc @f() {\n}\n", ""), "before remove_dead_code"));
}

TEST_CASE("problem_of: runs the passes of `then`") {
  CHECK(contains(problem_with("// Removes %y.\n// then: remove_code\n" + clean, ""),
                 "no pass has the name `remove_code`"));
  TemporaryFolder root;
  root.write("fold_add_into_dot/case.tir",
             "// Removes %y.\n// then: remove_dead_code\n" + dead.substr(dead.find('\n') + 1));
  root.write("fold_add_into_dot/case.expected.tir", clean);
  CHECK(problem_in(root) == "");
}

TEST_CASE("problem_of: writes the expected file on request only") {
  TemporaryFolder root;
  root.write("remove_dead_code/case.tir", dead);
  CHECK(problem_in(root) != "");
  CHECK_FALSE(root.exists("remove_dead_code/case.expected.tir"));
  CHECK(problem_in(root, true) == "");
  CHECK(root.read("remove_dead_code/case.expected.tir") == clean);
  CHECK(problem_in(root) == "");
}

TEST_CASE("stray_files: finds files without a case") {
  TemporaryFolder root;
  root.write("remove_dead_code/case.tir", dead);
  root.write("remove_dead_code/case.expected.tir", clean);
  CHECK(stray_files(root.path()).empty());
  root.write("remove_dead_code/old.expected.tir", clean);
  root.write("remove_dead_code/notes.txt", "");
  CHECK(stray_files(root.path()).size() == 2);
}

TEST_CASE("parse_schedule: sets kind and members") {
  CHECK(parse_schedule("baseline") == Schedule{});
  CHECK(parse_schedule("warp_specialized, k_tile 64, coarsening 1 2 1, swap_operands") ==
        Schedule{.kind = Schedule::Kind::warp_specialized,
                 .coarsening = {1, 2, 1},
                 .k_tile = 64,
                 .swap_operands = true});
  CHECK(parse_schedule("baseline, work partials, partials 1 2 1") ==
        Schedule{.work = Schedule::Work::partials, .partials = SplitKPartials{{1, 2, 1}, {0, 1}}});
}

TEST_CASE("parse_schedule: reads a batched schedule") {
  CHECK(parse_schedule("batched, coarsening 4 1 1") ==
        Schedule{.kind = Schedule::Kind::batched, .coarsening = {4, 1, 1}});
}

TEST_CASE("parse_schedule: rejects unknown kinds, members and values") {
  for (const char *text : {"", "k_tile 64", "fast", "baseline, speed 2", "baseline, k_tile",
                           "baseline, k_tile 1 2", "baseline, k_tile x", "baseline, work none"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_schedule(text));
  }
}

TEST_CASE("difference: shows changed lines between two lines of context") {
  CHECK(difference("a\nb\n", "a\nb\n") == "");
  CHECK(difference("a\nb\nc\nd\ne\nf\ng\n", "a\nb\nc\nD\ne\nf\ng\n") ==
        "line 4\n  b\n  c\n- d\n+ D\n  e\n  f\n");
  CHECK(difference("a\n", "a\nb\n") == "line 2\n  a\n+ b\n");
}
