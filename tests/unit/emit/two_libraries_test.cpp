// Tests the symbols of emit/object/object.cpp and emit/cpp/header.cpp: a program loads two shared
// libraries, whose kernels have the same name. Each library runs its own kernel.

#include "unit/emit/host_compiler.h"
#include "unit/emit/sample_library.h"
#include "unit/runtime/fake_driver.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <dlfcn.h>

using namespace tritonc;
using test::GeneratedFiles;

namespace {

const char *const plug_in = R"(
#include <gemm.hpp>
extern "C" __attribute__((visibility("default"))) int run(void *values) {
  gemm::scale::args args{};
  args.values = static_cast<tritonc::bfloat16 *>(values);
  return gemm::scale::launch({}, {1}, args).ok();
}
)";

using Run = int (*)(void *);

Run built(const GeneratedFiles &files, const std::string &mode) {
  std::string object = mode == "object" ? files.path("gemm.o") : "";
  test::Outcome outcome =
      files.compile(mode, plug_in,
                    "-std=c++17 -O1 -fPIC -shared " + object +
                        " " TRITONC_RUNTIME_LIBRARY " -ldl -o " + files.path("plug_in.so"));
  REQUIRE_MESSAGE(outcome.status == 0, outcome.output);
  // RTLD_GLOBAL: with visible symbols, the dynamic linker would merge the two libraries.
  void *library = dlopen(files.path("plug_in.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
  REQUIRE(library);
  void *run = dlsym(library, "run");
  REQUIRE(run);
  return reinterpret_cast<Run>(run);
}

// The kernels as host code, which the fake driver runs in place of a cubin.
int last = 0;
using HostOperations = const abi::host_operation *;
void run_first(HostOperations, abi::host_thread *, void *const *) { last = 1; }
void run_second(HostOperations, abi::host_thread *, void *const *) { last = 2; }

} // namespace

TEST_CASE("object_file: two libraries with equal kernel names coexist") {
  setenv("TRITONC_DRIVER", TRITONC_EMULATOR_LIBRARY, 1);
  StandIn driver(TRITONC_EMULATOR_LIBRARY);
  driver.configure("missing=tritoncEmulatorVersion,gpu=80"); // runs the images
  alignas(16) static char values[16];
  for (const char *mode : {"object", "self_contained"}) {
    CAPTURE(mode);
    GeneratedFiles first_files(emulated_library(run_first)),
        second_files(emulated_library(run_second));
    Run first = built(first_files, mode), second = built(second_files, mode);
    int before = driver.launches();
    for (int round = 0; round < 2; round++) {
      REQUIRE(first(values));
      CHECK(last == 1);
      REQUIRE(second(values));
      CHECK(last == 2);
    }
    CHECK(driver.launches() == before + 4);
  }
}
