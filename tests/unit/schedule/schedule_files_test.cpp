// Each file of schedule/ names its documentation and its test. This test reads the source tree.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace {

const std::filesystem::path tests = TRITONC_TESTS_DIR;
const std::filesystem::path folder = tests.parent_path() / "generator" / "schedule";

std::string contents(const std::filesystem::path &file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

} // namespace

TEST_CASE("schedule/: every source has a header comment and names its test") {
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".cpp")
      continue;
    std::string name = entry.path().stem();
    CAPTURE(name);
    CHECK(contents(folder / (name + ".h")).rfind("// ", 0) == 0);
    std::string source = contents(entry.path());
    CHECK(source.rfind("// ", 0) == 0);
    CHECK(source.find("See " + name + ".h.") != std::string::npos);
    const std::string before = "// Tested by tests/";
    size_t at = source.find(before);
    REQUIRE(at != std::string::npos);
    at += before.size();
    CHECK(std::filesystem::exists(tests / source.substr(at, source.find(".cpp", at) + 4 - at)));
  }
}

TEST_CASE("schedule/: enumerators take a const function") {
  for (const char *name : {"candidates", "missed_schedule"}) {
    CAPTURE(name);
    std::string header = contents(folder / (std::string(name) + ".h"));
    CHECK(header.find("(const ir::Function &fn") != std::string::npos);
    CHECK(header.find("(ir::Function &fn") == std::string::npos);
  }
}
