// A pass has one name in four places: a file, a function, a line of pipeline.cpp and a test. The
// test is a folder of tile IR files (tir_files_test.cpp checks it) and, if necessary, a C++ file.
// This test reads the source tree.

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

// Files that run passes, and files that passes share.
const std::vector<std::string_view> running = {"pipeline", "pass_runner"};
const std::vector<std::string_view> shared_by_passes = {
    "fitting_stages",   "grid_of_blocks", "loop_partials", "merge_repeated_loads", "partitions",
    "shared_roundtrip", "stream_k",       "thread_copies", "tile_slices",          "wgmma"};

} // namespace

TEST_CASE("pass files: each pass has header, source and pipeline line") {
  std::string pipeline = contents(sources / "passes" / "pipeline.cpp");
  for (std::string_view view : pass_names()) {
    std::string name(view);
    CAPTURE(name);
    std::string header = contents(sources / "passes" / (name + ".h"));
    CHECK(header.find("void " + name + "(ir::Function &fn") != std::string::npos);
    std::string source = contents(sources / "passes" / (name + ".cpp"));
    CHECK(source.rfind("// " + name + ": ", 0) == 0);
    for (std::string part :
         {"//     ", "// Method:  ", "// Needs:   ", "// Ensures: ", "// Limits:  "})
      CHECK(source.find(part) != std::string::npos);
    std::filesystem::path test = tests / "unit" / "passes" / (name + "_test.cpp");
    std::string tested = "// Tested by tests/unit/passes/" + name + "/";
    if (std::filesystem::exists(test)) {
      tested += " and " + name + "_test.cpp";
      CHECK(contents(test).rfind("// Tests passes/" + name + ".cpp", 0) == 0);
    }
    CHECK(source.find(tested + ".") != std::string::npos);
    CHECK(pipeline.find("run(\"" + name + "\", " + name) != std::string::npos);
  }
}

TEST_CASE("pass files: each file is a pass or a known shared file") {
  std::vector<std::string_view> known = pass_names();
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
