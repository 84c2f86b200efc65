// GPUs, contexts and streams, by the driver's own functions. See driver.h.

#include "driver.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace {

/// The library that the launches use: it is loaded by now.
void *driver_library() {
  const char *named = std::getenv("TRITONC_DRIVER");
  void *library = dlopen(named && *named ? named : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library)
    return library;
  std::fprintf(stderr, "tensor_parallel: %s\n", dlerror());
  std::exit(1);
}

/// Calls a function of the driver, which must succeed.
template <typename... Parameters> void call(const char *name, Parameters... values) {
  static void *const library = driver_library();
  auto function = reinterpret_cast<int (*)(Parameters...)>(dlsym(library, name));
  int result = function ? function(values...) : -1;
  if (result == 0)
    return;
  std::fprintf(stderr, "tensor_parallel: %s failed: %d\n", name, result);
  std::exit(1);
}

} // namespace

int gpu_count() {
  int count = 0;
  call("cuDeviceGetCount", &count);
  return count;
}

Gpu::Gpu(int number) : number_(number) {
  call("cuDevicePrimaryCtxRetain", &context_, number);
  enter();
  call("cuStreamCreate", &stream_, /*CU_STREAM_NON_BLOCKING*/ 1u);
}

Gpu::~Gpu() { call("cuStreamDestroy_v2", stream_); }

void Gpu::enter() const { call("cuCtxSetCurrent", context_); }
