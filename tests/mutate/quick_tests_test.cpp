// Tests quick_tests.cpp, and the table quick_tests.txt itself.

#include "mutate/quick_tests.h"
#include "mutate/source_copy.h"

#include <doctest/doctest.h>

using namespace tritonc::mutate;

TEST_CASE("read_quick_tests: folder, target, command") {
  std::vector<QuickTest> tests =
      read_quick_tests("# comment\n\ngenerator/a | test_a | env X=1 bin/test_a\n");
  REQUIRE(tests.size() == 1);
  CHECK(tests[0].folder == "generator/a");
  CHECK(tests[0].target == "test_a");
  CHECK(tests[0].command == "env X=1 bin/test_a");
}

TEST_CASE("tests_of: the tests of the file's folder, in order") {
  std::vector<QuickTest> all = {{"a", "1", ""}, {"ab", "2", ""}, {"a", "3", ""}};
  std::vector<QuickTest> tests = tests_of("a/b/x.cpp", all);
  REQUIRE(tests.size() == 2);
  CHECK(tests[0].target == "1");
  CHECK(tests[1].target == "3");
  CHECK(tests_of("x.cpp", all).empty());
}

TEST_CASE("quick_tests.txt: each folder has a test, each command its target") {
  std::vector<QuickTest> all = read_quick_tests(
      read_text(std::filesystem::path(TRITONC_TESTS_DIR) / "mutate" / "quick_tests.txt"));
  for (const QuickTest &test : all) {
    CAPTURE(test.command);
    CHECK(test.command.find("bin/" + test.target) != std::string::npos);
  }
  for (const char *file : {"generator/passes/a.cpp", "generator/lower/a.cpp",
                           "generator/analysis/a.cpp", "runtime/src/load/a.cpp"}) {
    CAPTURE(file);
    CHECK(!tests_of(file, all).empty());
  }
}
