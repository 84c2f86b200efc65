// A launch allocates nothing, on a driver that allocates nothing itself.

#include "driver.h"
#include "runtime/form_kernel.h"
#include "runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <unistd.h>

// The program's own, for its libraries, too; in those that look at memory themselves they must be
// left alone.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0
#else
#define COUNTS_ALLOCATIONS 1
#endif

namespace {

thread_local int allocations = 0;

} // namespace

#if COUNTS_ALLOCATIONS
extern "C" {
void *__libc_malloc(std::size_t);
void *__libc_calloc(std::size_t, std::size_t);
void *__libc_realloc(void *, std::size_t);
void *malloc(std::size_t bytes) {
  allocations++;
  return __libc_malloc(bytes);
}
void *calloc(std::size_t count, std::size_t bytes) {
  allocations++;
  return __libc_calloc(count, bytes);
}
void *realloc(void *memory, std::size_t bytes) {
  allocations++;
  return __libc_realloc(memory, bytes);
}
}
#endif

using namespace tritonc;

namespace {

int launches = 0;

/// A driver with one H200, which does nothing.
cuda::Driver idle_driver() {
  cuda::Driver driver;
  driver.version = 13000;
  driver.process = getpid();
  driver.devices = 1;
  static char context, library, kernel;
  driver.cuCtxGetCurrent = [](cuda::Context *current) {
    *current = reinterpret_cast<cuda::Context>(&context);
    return 0;
  };
  driver.cuStreamGetCtx = [](cuda::Stream, cuda::Context *of) {
    *of = reinterpret_cast<cuda::Context>(&context);
    return 0;
  };
  driver.cuCtxGetDevice = [](cuda::Device *device) {
    *device = 0;
    return 0;
  };
  driver.cuDeviceGetAttribute = [](int *value, int attribute, cuda::Device) {
    *value = attribute == cuda::multiprocessor_count ? 132
             : attribute == cuda::capability_major   ? 9
                                                     : 0;
    return 0;
  };
  driver.cuLibraryLoadData = [](cuda::Library *loaded, const void *, int *, void **, unsigned,
                                int *, void **, unsigned) {
    *loaded = reinterpret_cast<cuda::Library>(&library);
    return 0;
  };
  driver.cuLibraryGetKernel = [](cuda::Kernel *found, cuda::Library, const char *) {
    *found = reinterpret_cast<cuda::Kernel>(&kernel);
    return 0;
  };
  driver.cuTensorMapEncodeTiled =
      [](cuda::TensorMapBytes *map, int, std::uint32_t, void *, const std::uint64_t *,
         const std::uint64_t *, const std::uint32_t *, const std::uint32_t *, int, int, int, int) {
        *map = {};
        return 0;
      };
  driver.cuLaunchKernelEx = [](const cuda::LaunchConfig *, cuda::Function, void **, void **) {
    launches++;
    return 0;
  };
  return driver;
}

/// Allocations of the same launch, made that often.
template <typename Args>
int allocations_of(const abi::kernel &kernel, const Args &args, int count) {
  int before = allocations;
  bool succeeded = true;
  for (int i = 0; i < count; i++)
    for (std::uintptr_t where : {0, 0x1000})
      succeeded &= abi::launch(kernel, reinterpret_cast<CUstream_st *>(where), &args).ok();
  int made = allocations - before;
  CHECK(succeeded);
  return made;
}

} // namespace

TEST_CASE("a launch allocates nothing, the first one and those after it") {
  if (!COUNTS_ALLOCATIONS)
    return;
  static cuda::Driver driver = idle_driver();
  int before = allocations;
  std::free(std::malloc(1));
  REQUIRE(allocations == before + 1); // they are counted
  SampleKernel sample;
  FormKernel forms({{"form", {}, "", {"1"}, 1, {TensorText(), TensorText()}}});
  const abi::kernel &formed = forms.kernel();
  cuda::opened = &driver;
  for (int count : {1, 1, 1000}) {
    launches = 0;
    CHECK(allocations_of(sample.kernel, good_args(), count) == 0);
    CHECK(allocations_of(formed, form_args(), count) == 0);
    CHECK(launches == 4 * count);
  }
  cuda::opened = nullptr;
}
