// One name, four places: a pass is a file, a function, a line of pipeline.cpp and a test. This
// looks at the source tree.

#include "passes/pipeline.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace tritonc;

namespace {

const std::filesystem::path tests = TRITONC_TESTS_DIR;
const std::filesystem::path sources = tests.parent_path() / "generator";

std::string contents(const std::filesystem::path &file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// What structures are chosen by, and what passes are run by.
const std::vector<std::string_view> choosing = {
    "obstacles",       "program_costs",     "specialized_structures", "structure",
    "structure_costs", "structure_demands", "structure_tiles",        "uniform_structures"};
const std::vector<std::string_view> running = {"pipeline", "pass_runner"};
const std::vector<std::string_view> shared_by_passes = {"cost_formulas", "sum_parts",
                                                        "through_shared"};

} // namespace

TEST_CASE("each pass has a header, a source that explains it, a line in the pipeline and a test") {
  std::string pipeline = contents(sources / "passes" / "pipeline.cpp");
  for (std::string_view view : pass_names()) {
    std::string name(view);
    CAPTURE(name);
    std::string header = contents(sources / "passes" / (name + ".h"));
    CHECK(header.find("void " + name + "(ir::Function &fn") != std::string::npos);
    std::string source = contents(sources / "passes" / (name + ".cpp"));
    CHECK(source.rfind("// " + name + ": ", 0) == 0);
    for (std::string part : {"// Needs:   ", "// Ensures: "})
      CHECK(source.find(part) != std::string::npos);
    CHECK(source.find("// Tested by tests/passes/" + name + "_test.cpp.") != std::string::npos);
    CHECK(pipeline.find("run(\"" + name + "\", " + name) != std::string::npos);
    std::string test = contents(tests / "passes" / (name + "_test.cpp"));
    CHECK(test.rfind("// Tests passes/" + name + ".cpp", 0) == 0);
    CHECK(test.find("othing") != std::string::npos); // a test in which nothing happens
  }
}

TEST_CASE("each file of the folder is a pass, or what passes share, are chosen and run by") {
  std::vector<std::string_view> known = pass_names();
  known.insert(known.end(), choosing.begin(), choosing.end());
  known.insert(known.end(), running.begin(), running.end());
  known.insert(known.end(), shared_by_passes.begin(), shared_by_passes.end());
  for (const auto &entry : std::filesystem::directory_iterator(sources / "passes")) {
    std::string name = entry.path().stem();
    if (entry.path().extension() == ".txt")
      continue;
    CAPTURE(name);
    CHECK(std::find(known.begin(), known.end(), name) != known.end());
  }
}

TEST_CASE("what chooses a structure is no pass: it says where it is explained, and has a test") {
  for (std::string_view view : choosing) {
    std::string name(view);
    CAPTURE(name);
    CHECK(contents(sources / "passes" / (name + ".h")).rfind("// ", 0) == 0);
    std::string source = contents(sources / "passes" / (name + ".cpp"));
    CHECK(source.rfind("// ", 0) == 0);
    CHECK(source.find("See " + name + ".h.") != std::string::npos);
    const std::string before = "// Tested by tests/";
    size_t at = source.find(before);
    REQUIRE(at != std::string::npos);
    at += before.size();
    CHECK(std::filesystem::exists(tests / source.substr(at, source.find(".cpp", at) + 4 - at)));
  }
}

TEST_CASE("what says which structures there are changes nothing") {
  for (const char *name : {"structure", "obstacles"}) {
    CAPTURE(name);
    std::string header = contents(sources / "passes" / (std::string(name) + ".h"));
    CHECK(header.find("(const ir::Function &fn") != std::string::npos);
    CHECK(header.find("(ir::Function &fn") == std::string::npos);
  }
  std::string test = contents(tests / "passes" / "structure_test.cpp");
  CHECK(test.rfind("// Tests passes/structure.cpp", 0) == 0);
}
