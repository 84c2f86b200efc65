// Two shared libraries with different kernels of one name, in one program: each runs its own.

#include "emit/host_compiler.h"
#include "emit/sample_library.h"
#include "runtime/fake_driver.h"

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
  // Global: the case in which the dynamic linker would mix them up.
  void *library = dlopen(files.path("plug_in.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
  REQUIRE(library);
  void *run = dlsym(library, "run");
  REQUIRE(run);
  return reinterpret_cast<Run>(run);
}

Library with_code(const std::string &code) {
  Library library = sample_library();
  library.kernels[1].variants[0].images[0].bytes = code + "$";
  return library;
}

} // namespace

TEST_CASE("two libraries with kernels of one name run their own code") {
  setenv("TRITONC_DRIVER", TRITONC_FAKE_DRIVER, 1);
  void *library = dlopen(TRITONC_FAKE_DRIVER, RTLD_NOW);
  REQUIRE(library);
  void *accessor = dlsym(library, "fake_driver");
  REQUIRE(accessor);
  fake::Driver &driver = *reinterpret_cast<fake::Driver *(*)()>(accessor)();
  driver.devices[0] = {8, 0, 108};
  alignas(16) static char values[16];
  for (const char *mode : {"object", "self_contained"}) {
    CAPTURE(mode);
    GeneratedFiles first_files(with_code("first")), second_files(with_code("second"));
    Run first = built(first_files, mode), second = built(second_files, mode);
    driver.launches.clear();
    for (int round = 0; round < 2; round++) {
      REQUIRE(first(values));
      REQUIRE(second(values));
    }
    REQUIRE(driver.launches.size() == 4);
    for (size_t i = 0; i < 4; i++)
      CHECK(driver.launches[i].image == (i % 2 == 0 ? "first" : "second"));
  }
}
