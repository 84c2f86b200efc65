// A stream and a graph, made with functions of the CUDA driver. See driver.h.

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
  std::fprintf(stderr, "inference: %s\n", dlerror());
  std::exit(1);
}

/// Calls a driver function. Exits if it fails.
template <typename... Parameters> void call(const char *name, Parameters... values) {
  static void *const library = driver_library();
  auto function = reinterpret_cast<int (*)(Parameters...)>(dlsym(library, name));
  int result = function ? function(values...) : -1;
  if (result == 0)
    return;
  std::fprintf(stderr, "inference: %s failed: %d\n", name, result);
  std::exit(1);
}

} // namespace

Stream::Stream() { call("cuStreamCreate", &handle_, /*CU_STREAM_NON_BLOCKING*/ 1u); }
Stream::~Stream() { call("cuStreamDestroy_v2", handle_); }

void Graph::begin() {
  call("cuStreamBeginCapture_v2", stream_.handle(), /*CU_STREAM_CAPTURE_MODE_GLOBAL*/ 0);
}

void Graph::end() {
  struct CUgraph_st *graph = nullptr;
  call("cuStreamEndCapture", stream_.handle(), &graph);
  call("cuGraphInstantiateWithFlags", &instance_, graph, 0ull);
  call("cuGraphDestroy", graph);
}

Graph::~Graph() { call("cuGraphExecDestroy", instance_); }

void Graph::launch() const { call("cuGraphLaunch", instance_, stream_.handle()); }
