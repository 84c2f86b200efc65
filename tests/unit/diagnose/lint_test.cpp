// Tests generator/diagnose/lint.cpp. tests/diagnostics/lint*.tc have the warnings of kernels, and
// shipped_kernels_test.cpp tests that the shipped kernels have none.

#include "diagnose/lint.h"

#include "compile.h"
#include "support/temporary_folder.h"

#include <doctest/doctest.h>

#include <set>

using namespace tritonc;

TEST_CASE("lint: no warning if a mask is true in only some variants") {
  TemporaryFolder files;
  const char *source = "__global__ void f(float *p) {\n"
                       "  int i[SIZE] = 0 ... SIZE;\n"
                       "  *?(i < 64)(p + i) = 0;\n"
                       "}\n";
  auto said = [&](const char *axis) {
    std::string path = files.write("f.tc", std::string(axis) + source);
    return plan_kernels({.sources = {path}, .gpus = {find_gpu("80")}}).diagnostics_text;
  };
  CHECK(said("#pragma tritonc tune(SIZE: 32, 64, 128)\n") == "");
  CHECK(said("#pragma tritonc tune(SIZE: 32, 64)\n").find("warning: this mask is true for every") !=
        std::string::npos);
}

TEST_CASE("lint: warnings can be disabled by name") {
  TemporaryFolder files;
  std::string path = files.write("f.tc", "__global__ void f(float *p) {\n"
                                         "  int i[64] = 0 ... 64;\n"
                                         "  *?(i < 64)(p + i * 32) = 0;\n"
                                         "}\n");
  CompileOptions options = {.sources = {path}, .gpus = {find_gpu("80")}};
  auto names = [&] {
    std::set<std::string> names;
    for (const Diagnostic &found : plan_kernels(options).diagnostics)
      names.insert(found.name);
    return names;
  };
  CHECK(names() == std::set<std::string>{"mask-always-true", "uncoalesced"});
  options.messages.off = {"uncoalesced"};
  CHECK(names() == std::set<std::string>{"mask-always-true"});
  options.messages.no_warnings = true;
  CHECK(names().empty());
}
