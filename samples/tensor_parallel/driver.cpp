// GPUs, contexts and streams, made with functions of the CUDA driver. See driver.h.

#include "driver.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace {

/// The driver library of the launches, which have loaded it before.
void *driver_library() {
  const char *named = std::getenv("TRITONC_DRIVER");
  void *library = dlopen(named && *named ? named : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library)
    return library;
  std::fprintf(stderr, "tensor_parallel: %s\n", dlerror());
  std::exit(1);
}

/// Calls a driver function. Exits if it fails.
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
