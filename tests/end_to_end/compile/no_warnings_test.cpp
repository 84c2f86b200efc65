// Tests that the kernels in kernels/ and samples/ have no warnings in any variant.

#include "compile.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

using namespace tritonc;

namespace {

std::vector<std::string> shipped_kernels() {
  std::vector<std::string> paths;
  for (const char *folder : {"/../kernels", "/../samples"})
    for (const auto &entry : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(TRITONC_TESTS_DIR + std::string(folder))))
      if (entry.path().extension() == ".tc")
        paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

} // namespace

TEST_CASE("lint: shipped kernels have no warning in any variant") {
  std::vector<std::string> paths = shipped_kernels();
  CHECK(paths.size() >= 10);
  for (const std::string &path : paths) {
    CAPTURE(path);
    PlannedKernels planned = plan_kernels({.sources = {path}, .gpus = {find_gpu("80")}});
    CHECK(planned.code == ExitCode::ok);
    CHECK(planned.diagnostics_text == "");
  }
}
