// Tests lint.cpp on what we ship: there is nothing to say about kernels/ and samples/. What it
// says about others is in tests/diagnostics/lint*.tc.

#include "diagnose/lint.h"

#include "compile.h"
#include "source_files.h"

#include <filesystem>
#include <set>

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

TEST_CASE("there is no warning about a kernel that we ship, in any variant") {
  std::vector<std::string> paths = shipped_kernels();
  CHECK(paths.size() >= 10);
  for (const std::string &path : paths) {
    CAPTURE(path);
    PlannedKernels planned = plan_kernels({.sources = {path}, .gpus = {find_gpu("80")}});
    CHECK(planned.code == ExitCode::ok);
    CHECK(planned.diagnostics == "");
  }
}

TEST_CASE("a mask that only some variants make true is no news") {
  SourceFiles files;
  const char *source = "__global__ void f(float *p) {\n"
                       "  int i[SIZE] = 0 ... SIZE;\n"
                       "  *?(i < 64)(p + i) = 0;\n"
                       "}\n";
  auto said = [&](const char *axis) {
    std::string path = files.add("f.tc", std::string(axis) + source);
    return plan_kernels({.sources = {path}, .gpus = {find_gpu("80")}}).diagnostics;
  };
  CHECK(said("#pragma tritonc tune(SIZE: 32, 64, 128)\n") == "");
  CHECK(said("#pragma tritonc tune(SIZE: 32, 64)\n").find("warning: this mask is true for every") !=
        std::string::npos);
}

TEST_CASE("lint is dropped by its name") {
  SourceFiles files;
  std::string path = files.add("f.tc", "__global__ void f(float *p) {\n"
                                       "  int i[64] = 0 ... 64;\n"
                                       "  *?(i < 64)(p + i * 32) = 0;\n"
                                       "}\n");
  CompileOptions options = {.sources = {path}, .gpus = {find_gpu("80")}};
  auto names = [&] {
    std::set<std::string> names;
    for (const Diagnostic &found : plan_kernels(options).findings)
      names.insert(found.name);
    return names;
  };
  CHECK(names() == std::set<std::string>{"mask-always-true", "uncoalesced"});
  options.messages.off = {"uncoalesced"};
  CHECK(names() == std::set<std::string>{"mask-always-true"});
  options.messages.no_warnings = true;
  CHECK(names().empty());
}
