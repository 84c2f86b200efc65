// Tests that the fake driver agrees with the driver: capture and graphs. See agreement.h.

#include "unit/fake_driver/agreement/agreement.h"

#include <string>
#include <thread>

namespace {

constexpr int global = 0, thread_local_mode = 1, relaxed = 2;

struct Capture {
  explicit Capture(Own &own, int mode = global, unsigned flags = 0) : stream(own.stream(flags)) {
    REQUIRE(driver.cuStreamBeginCapture_v2(stream, mode) == 0);
  }
  int end() { return driver.cuStreamEndCapture(stream, &graph); }
  int status() {
    int result = -1;
    CHECK(driver.cuStreamIsCapturing(stream, &result) == 0);
    return result;
  }
  cu::Stream *stream;
  cu::Graph *graph = nullptr;
};

} // namespace

TEST_CASE("graph: each launch repeats the captured work") {
  Own own;
  cu::Kernel *kernel = get_kernel();
  Operands up = {own.memory(256), own.memory(256)}, back = {up.target, up.source};
  Capture capture(own);
  CHECK(capture.status() == 1);
  CHECK(launch(kernel, up, capture.stream) == 0);
  CHECK(launch(kernel, back, capture.stream) == 0);
  CHECK(driver.cuMemsetD32Async(up.target, 77, 1, capture.stream) == 0);
  CHECK(capture.end() == 0);
  REQUIRE(capture.graph);
  CHECK(capture.status() == 0);
  std::size_t nodes = 0;
  CHECK(driver.cuGraphGetNodes(capture.graph, nullptr, &nodes) == 0);
  CHECK(nodes == 3);
  int value = -1;
  CHECK(driver.cuMemcpyDtoH_v2(&value, up.source, 4) == 0);
  CHECK(value == 0); // nothing has run
  cu::GraphExec *exec = nullptr;
  CHECK(driver.cuGraphInstantiateWithFlags(&exec, capture.graph, 0) == 0);
  CHECK(driver.cuGraphDestroy(capture.graph) == 0);
  for (int i = 0; i < 3; i++)
    CHECK(driver.cuGraphLaunch(exec, capture.stream) == 0);
  CHECK(driver.cuStreamSynchronize(capture.stream) == 0);
  CHECK(driver.cuMemcpyDtoH_v2(&value, up.source, 4) == 0);
  CHECK(value == 6);
  CHECK(driver.cuMemcpyDtoH_v2(&value, up.target, 4) == 0);
  CHECK(value == 77);
  CHECK(driver.cuGraphExecDestroy(exec) == 0);
}

TEST_CASE("graph: memory has one address across nodes") {
  Own own;
  cu::Kernel *kernel = get_kernel();
  cu::Pool *pool = make_pool();
  Operands operands = {0, own.memory(256), 7};
  int value = 0;
  for (bool from_pool : {false, true}) {
    CAPTURE(from_pool);
    CHECK(driver.cuMemsetD8_v2(operands.target, 0, 256) == 0);
    Capture capture(own);
    CHECK((from_pool ? driver.cuMemAllocFromPoolAsync(&operands.source, 256, pool, capture.stream)
                     : driver.cuMemAllocAsync(&operands.source, 256, capture.stream)) == 0);
    CHECK(operands.source % 256 == 0);
    CHECK(driver.cuMemsetD32Async(operands.source, 3, 64, capture.stream) == 0);
    CHECK(launch(kernel, operands, capture.stream) == 0);
    CHECK(driver.cuMemFreeAsync(operands.source, capture.stream) == 0);
    CHECK(driver.cuMemFreeAsync(operands.source, capture.stream) == 1); // once in a graph
    CHECK(capture.end() == 0);
    REQUIRE(capture.graph);
    std::size_t nodes = 0;
    CHECK(driver.cuGraphGetNodes(capture.graph, nullptr, &nodes) == 0);
    CHECK(nodes == 4);
    cu::GraphExec *exec = nullptr, *second = nullptr;
    CHECK(driver.cuGraphInstantiateWithFlags(&exec, capture.graph, 0) == 0);
    CHECK(driver.cuGraphInstantiateWithFlags(&second, capture.graph, 0) != 0); // one at a time
    for (int i = 0; i < 2; i++) {
      CHECK(driver.cuMemsetD8_v2(operands.target, 0, 256) == 0);
      CHECK(driver.cuGraphLaunch(exec, capture.stream) == 0);
      CHECK(driver.cuStreamSynchronize(capture.stream) == 0);
      CHECK(driver.cuMemcpyDtoH_v2(&value, operands.target, 4) == 0);
      CHECK(value == 10);
    }
    CHECK(driver.cuGraphDestroy(capture.graph) == 0);
    CHECK(driver.cuGraphLaunch(exec, capture.stream) == 0);
    CHECK(driver.cuStreamSynchronize(capture.stream) == 0);
    CHECK(driver.cuGraphExecDestroy(exec) == 0);
  }
  CHECK(driver.cuMemPoolDestroy(pool) == 0);
}

TEST_CASE("graph: unfreed memory lives until another call frees it") {
  Own own;
  cu::Pointer memory = 0;
  Capture capture(own);
  CHECK(driver.cuMemAllocAsync(&memory, 256, capture.stream) == 0);
  CHECK(driver.cuMemsetD32Async(memory, 3, 64, capture.stream) == 0);
  CHECK(capture.end() == 0);
  cu::GraphExec *exec = nullptr;
  int value = 0;
  CHECK(driver.cuGraphInstantiateWithFlags(&exec, capture.graph, 0) == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(driver.cuGraphLaunch(exec, capture.stream) == 0);
    CHECK(driver.cuMemcpyDtoHAsync_v2(&value, memory, 4, capture.stream) == 0);
    CHECK(driver.cuMemFreeAsync(memory, capture.stream) == 0);
    CHECK(driver.cuStreamSynchronize(capture.stream) == 0);
    CHECK(value == 3);
  }
  CHECK(driver.cuGraphLaunch(exec, capture.stream) == 0);
  CHECK(driver.cuGraphLaunch(exec, capture.stream) != 0); // it is there already
  CHECK(driver.cuMemFreeAsync(memory, capture.stream) == 0);
  CHECK(driver.cuGraphExecDestroy(exec) == 0);
  CHECK(driver.cuGraphInstantiateWithFlags(&exec, capture.graph, cu::free_on_launch) == 0);
  CHECK(driver.cuGraphLaunch(exec, capture.stream) == 0);
  CHECK(driver.cuGraphLaunch(exec, capture.stream) == 0);
  CHECK(driver.cuMemFreeAsync(memory, capture.stream) == 0);
  CHECK(driver.cuStreamSynchronize(capture.stream) == 0);
}

TEST_CASE("capture: frees only memory of its own graph") {
  Own own;
  cu::Pointer outside = 0, inside = 0;
  cu::Stream *stream = own.stream();
  SUBCASE("memory from before the capture") {
    CHECK(driver.cuMemAllocAsync(&outside, 256, stream) == 0);
    CHECK(driver.cuStreamSynchronize(stream) == 0);
    Capture capture(own);
    CHECK(driver.cuMemFreeAsync(outside, capture.stream) == 1);
    capture.end();
  }
  SUBCASE("such a graph in another capture") {
    Capture capture(own);
    CHECK(driver.cuMemAllocAsync(&inside, 256, capture.stream) == 0);
    CHECK(driver.cuMemFreeAsync(inside, capture.stream) == 0);
    CHECK(capture.end() == 0);
    cu::GraphExec *exec = nullptr;
    CHECK(driver.cuGraphInstantiateWithFlags(&exec, capture.graph, 0) == 0);
    Capture other(own);
    CHECK(driver.cuGraphLaunch(exec, other.stream) != 0);
    other.end();
  }
}

TEST_CASE("launch: programmatic serialization runs and is captured") {
  Own own;
  cu::Kernel *kernel = get_kernel();
  cu::Stream *stream = own.stream();
  Operands up = {own.memory(256), own.memory(256)}, back = {up.target, up.source};
  // Each kernel waits for the launch before it (griddepcontrol.wait), and no kernel lets the next
  // one start early.
  auto launch_early = [&](const Operands &operands) {
    Operands values = operands;
    void *parameters[] = {&values.source, &values.target, &values.n};
    cu::LaunchAttribute attribute = {};
    attribute.id = cu::LaunchAttribute::programmatic_serialization;
    attribute.value.may_start_early = 1;
    cu::LaunchConfig config = {1, 1, 1, 64, 1, 1, 0, stream, &attribute, 1};
    return driver.cuLaunchKernelEx(&config, kernel, parameters, nullptr);
  };
  CHECK(launch_early(up) == 0);
  CHECK(launch_early(back) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
  int version = 0;
  REQUIRE(driver.cuDriverGetVersion(&version) == 0);
  if (version < 12030)
    return; // cannot be captured
  cu::Graph *graph = nullptr;
  cu::GraphExec *exec = nullptr;
  REQUIRE(driver.cuStreamBeginCapture_v2(stream, global) == 0);
  CHECK(launch_early(up) == 0);
  CHECK(launch_early(back) == 0);
  CHECK(driver.cuStreamEndCapture(stream, &graph) == 0);
  CHECK(driver.cuGraphInstantiateWithFlags(&exec, graph, 0) == 0);
  CHECK(driver.cuGraphLaunch(exec, stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
}

TEST_CASE("capture: forbids unsafe calls") {
  Own own;
  cu::Pointer memory = 0;
  SUBCASE("allocation") {
    cu::Kernel *kernel = get_kernel();
    Capture capture(own);
    CHECK(driver.cuMemAlloc_v2(&memory, 16) == 900);
    CHECK(capture.status() == 2);
    CHECK(launch(kernel, {0, 0}, capture.stream) == 901);
    CHECK(capture.end() == 901);
    CHECK(capture.graph == nullptr);
    CHECK(driver.cuMemAlloc_v2(&memory, 16) == 0);
  }
  SUBCASE("allocation in relaxed mode is allowed") {
    Capture capture(own, relaxed);
    CHECK(driver.cuMemAlloc_v2(&memory, 16) == 0);
    CHECK(capture.end() == 0);
  }
  SUBCASE("allocation by a relaxed thread is allowed") {
    Capture capture(own);
    int mode = relaxed;
    CHECK(driver.cuThreadExchangeStreamCaptureMode(&mode) == 0);
    CHECK(mode == global);
    CHECK(driver.cuMemAlloc_v2(&memory, 16) == 0);
    CHECK(driver.cuThreadExchangeStreamCaptureMode(&mode) == 0);
    CHECK(mode == relaxed);
    CHECK(capture.end() == 0);
  }
  SUBCASE("synchronization of the stream") {
    Capture capture(own);
    CHECK(driver.cuStreamSynchronize(capture.stream) == 900);
    CHECK(capture.end() == 901);
  }
  SUBCASE("query of the stream") {
    Capture capture(own, relaxed);
    CHECK(driver.cuStreamQuery(capture.stream) == 900);
    CHECK(capture.end() == 901);
  }
  SUBCASE("query of the stream's device") {
    Capture capture(own, relaxed);
    cu::Context *context = nullptr;
    cu::Device device = -1;
    CHECK(driver.cuStreamGetCtx(capture.stream, &context) == 0);
    CHECK(context == own.context);
    bool may_ask = driver.cuStreamGetDevice != nullptr;
    if (may_ask)
      CHECK(driver.cuStreamGetDevice(capture.stream, &device) == 900);
    CHECK(capture.end() == (may_ask ? 901 : 0));
  }
  SUBCASE("synchronization of the context") {
    Capture capture(own, relaxed);
    CHECK(driver.cuCtxSynchronize() == 900);
    CHECK(capture.end() == 901);
  }
  SUBCASE("launch on the legacy stream") {
    cu::Kernel *kernel = get_kernel();
    Operands operands = {own.memory(256), own.memory(256)};
    Capture capture(own);
    int status = -1;
    CHECK(driver.cuStreamIsCapturing(nullptr, &status) == 906);
    CHECK(capture.status() == 1); // asking is harmless
    CHECK(launch(kernel, operands) == 906);
    CHECK(capture.end() == 901);
  }
  SUBCASE("legacy stream beside a non-blocking stream is allowed") {
    cu::Kernel *kernel = get_kernel();
    Operands operands = {own.memory(256), own.memory(256)};
    Capture capture(own, global, 1);
    CHECK(launch(kernel, operands) == 0);
    CHECK(capture.end() == 0);
  }
  SUBCASE("synchronous copy") {
    cu::Pointer there = own.memory(256);
    Capture capture(own, relaxed);
    int value = 0;
    CHECK(driver.cuMemcpyHtoD_v2(there, &value, 4) == 906);
    CHECK(capture.end() == 901);
  }
  SUBCASE("capture of the legacy stream") {
    CHECK(driver.cuStreamBeginCapture_v2(nullptr, global) == 900);
  }
  SUBCASE("nested capture, end without capture") {
    Capture capture(own);
    CHECK(driver.cuStreamBeginCapture_v2(capture.stream, global) == 401);
    CHECK(capture.end() == 0);
    CHECK(capture.end() == 401);
    CHECK(driver.cuStreamBeginCapture_v2(capture.stream, 17) == 1);
  }
  SUBCASE("allocation by another thread") {
    for (int mode : {global, thread_local_mode}) {
      CAPTURE(mode);
      Capture capture(own, mode);
      int result = -1;
      std::thread([&] {
        driver.cuCtxSetCurrent(own.context);
        result = driver.cuMemAlloc_v2(&memory, 16);
      }).join();
      CHECK(result == (mode == global ? 900 : 0));
      CHECK(capture.end() == (mode == global ? 901 : 0));
    }
  }
  SUBCASE("end by another thread") {
    Capture capture(own, thread_local_mode);
    int result = -1;
    std::thread([&] {
      driver.cuCtxSetCurrent(own.context);
      result = driver.cuStreamEndCapture(capture.stream, &capture.graph);
    }).join();
    CHECK(result == 908);
    capture.end();
  }
}

TEST_CASE("capture: global mode survives only some calls") {
  struct Scene {
    Own own;
    cu::Kernel *kernel = get_kernel();
    cu::Library *library = load("add");
    cu::Pointer memory = own.memory(256);
    cu::Stream *other = own.stream();
    cu::Event *event = own.event();
    int value = 0;
    std::size_t bytes = 0;
    void *host = nullptr;
    cu::Context *context = nullptr;
    cu::Module *module = nullptr;
    cu::Kernel *function = nullptr;
    cu::Graph *graph = nullptr;
    cu::Pool *pool = nullptr;
    cu::Pointer in_order = allocated_in_order(other);
  };
  const struct {
    const char *name;
    int result;
    int (*call)(Scene &);
  } rows[] = {
      {"cuLibraryLoadData", 0,
       [](Scene &s) {
         return driver.cuLibraryLoadData(&s.library, code_of("add"), nullptr, nullptr, 0, nullptr,
                                         nullptr, 0);
       }},
      {"cuLibraryGetKernel", 0,
       [](Scene &s) { return driver.cuLibraryGetKernel(&s.function, s.library, "add"); }},
      {"cuLibraryUnload", 900, [](Scene &s) { return driver.cuLibraryUnload(s.library); }},
      {"cuModuleLoadData", 0,
       [](Scene &s) { return driver.cuModuleLoadData(&s.module, code_of("add")); }},
      {"cuKernelGetFunction", 0,
       [](Scene &s) { return driver.cuKernelGetFunction(&s.function, s.kernel); }},
      {"cuKernelSetAttribute", 0,
       [](Scene &s) { return driver.cuKernelSetAttribute(8, 60000, s.kernel, 0); }},
      {"cuMemAllocHost", 900, [](Scene &s) { return driver.cuMemAllocHost_v2(&s.host, 64); }},
      {"cuMemFree", 900, [](Scene &s) { return driver.cuMemFree_v2(s.memory); }},
      {"cuMemGetInfo", 0, [](Scene &s) { return driver.cuMemGetInfo_v2(&s.bytes, &s.bytes); }},
      {"cuMemcpyHtoD", 906, [](Scene &s) { return driver.cuMemcpyHtoD_v2(s.memory, &s.value, 4); }},
      {"cuEventQuery", 900, [](Scene &s) { return driver.cuEventQuery(s.event); }},
      {"cuEventSynchronize", 900, [](Scene &s) { return driver.cuEventSynchronize(s.event); }},
      {"cuEventCreate", 0, [](Scene &s) { return driver.cuEventCreate(&s.event, 0); }},
      {"cuEventDestroy", 0, [](Scene &s) { return driver.cuEventDestroy_v2(s.event); }},
      {"cuEventRecord elsewhere", 0,
       [](Scene &s) { return driver.cuEventRecord(s.event, s.other); }},
      {"cuEventRecord on the legacy stream", 906,
       [](Scene &s) { return driver.cuEventRecord(s.event, nullptr); }},
      {"cuStreamQuery elsewhere", 900, [](Scene &s) { return driver.cuStreamQuery(s.other); }},
      {"cuStreamSynchronize elsewhere", 900,
       [](Scene &s) { return driver.cuStreamSynchronize(s.other); }},
      {"cuStreamSynchronize of the legacy stream", 906,
       [](Scene &) { return driver.cuStreamSynchronize(nullptr); }},
      {"cuCtxSynchronize", 900, [](Scene &) { return driver.cuCtxSynchronize(); }},
      {"cuStreamCreate", 0, [](Scene &s) { return driver.cuStreamCreate(&s.other, 0); }},
      {"cuStreamDestroy elsewhere", 0, [](Scene &s) { return driver.cuStreamDestroy_v2(s.other); }},
      {"cuStreamWaitEvent elsewhere", 0,
       [](Scene &s) { return driver.cuStreamWaitEvent(s.other, s.event, 0); }},
      {"cuGraphCreate", 0, [](Scene &s) { return driver.cuGraphCreate(&s.graph, 0); }},
      {"cuPointerGetAttribute", 0,
       [](Scene &s) { return driver.cuPointerGetAttribute(&s.value, 9, s.memory); }},
      {"cuCtxSetLimit", 900, [](Scene &) { return driver.cuCtxSetLimit(0, 2048); }},
      {"cuMemPoolCreate", 900,
       [](Scene &s) {
         cu::PoolProperties properties = pool_properties();
         return driver.cuMemPoolCreate(&s.pool, &properties);
       }},
      {"cuMemAllocAsync elsewhere", 900,
       [](Scene &s) { return driver.cuMemAllocAsync(&s.memory, 64, s.other); }},
      {"cuMemFreeAsync elsewhere", 900,
       [](Scene &s) { return driver.cuMemFreeAsync(s.in_order, s.other); }},
      {"cuMemAllocAsync on the legacy stream", 906,
       [](Scene &s) { return driver.cuMemAllocAsync(&s.memory, 64, nullptr); }},
      {"cuMemsetD8Async elsewhere", 0,
       [](Scene &s) { return driver.cuMemsetD8Async(s.memory, 0, 1, s.other); }},
  };
  // Loading code during a capture requires CUDA 12.3.
  for (auto &row : rows) {
    CAPTURE(std::string(row.name));
    Scene scene;
    Capture capture(scene.own);
    CHECK(row.call(scene) == row.result);
    CHECK(capture.end() == (row.result ? 901 : 0));
  }
}

TEST_CASE("capture: relaxed thread may allocate on another stream") {
  Own own;
  cu::Stream *other = own.stream();
  cu::Pool *pool = make_pool();
  Capture capture(own);
  int mode = relaxed;
  CHECK(driver.cuThreadExchangeStreamCaptureMode(&mode) == 0);
  cu::Pointer memory = 0;
  CHECK(driver.cuMemAllocFromPoolAsync(&memory, 64, pool, other) == 0);
  CHECK(driver.cuMemFreeAsync(memory, other) == 0);
  CHECK(driver.cuThreadExchangeStreamCaptureMode(&mode) == 0);
  CHECK(capture.end() == 0);
  CHECK(driver.cuStreamSynchronize(other) == 0);
}

TEST_CASE("capture: refuses to wait for a captured event") {
  Own own;
  cu::Event *event = own.event();
  Capture capture(own, relaxed);
  CHECK(driver.cuEventRecord(event, capture.stream) == 0);
  CHECK(driver.cuEventSynchronize(event) == 907);
  CHECK(capture.end() == 901);
}

TEST_CASE("capture: spreads to other streams by events") {
  Own own;
  cu::Kernel *kernel = get_kernel();
  Operands operands = {own.memory(256), own.memory(256)};
  cu::Stream *side = own.stream();
  cu::Event *fork = own.event(2), *join = own.event(2);
  SUBCASE("joined before the end") {
    Capture capture(own);
    CHECK(driver.cuEventRecord(fork, capture.stream) == 0);
    CHECK(driver.cuStreamWaitEvent(side, fork, 0) == 0);
    int status = -1;
    CHECK(driver.cuStreamIsCapturing(side, &status) == 0);
    CHECK(status == 1);
    CHECK(launch(kernel, operands, side) == 0);
    CHECK(driver.cuEventRecord(join, side) == 0);
    CHECK(driver.cuStreamWaitEvent(capture.stream, join, 0) == 0);
    CHECK(capture.end() == 0);
    std::size_t nodes = 0;
    CHECK(driver.cuGraphGetNodes(capture.graph, nullptr, &nodes) == 0);
    CHECK(nodes == 1);
    CHECK(driver.cuStreamIsCapturing(side, &status) == 0);
    CHECK(status == 0);
  }
  SUBCASE("not joined before the end") {
    Capture capture(own);
    CHECK(driver.cuEventRecord(fork, capture.stream) == 0);
    CHECK(driver.cuStreamWaitEvent(side, fork, 0) == 0);
    CHECK(launch(kernel, operands, side) == 0);
    CHECK(capture.end() == 904);
  }
  SUBCASE("ended on another stream") {
    Capture capture(own);
    CHECK(driver.cuEventRecord(fork, capture.stream) == 0);
    CHECK(driver.cuStreamWaitEvent(side, fork, 0) == 0);
    cu::Graph *graph = nullptr;
    CHECK(driver.cuStreamEndCapture(side, &graph) == 903);
    CHECK(capture.end() == 901);
  }
  SUBCASE("joined with another capture") {
    Capture capture(own), other(own);
    CHECK(driver.cuEventRecord(fork, capture.stream) == 0);
    CHECK(driver.cuStreamWaitEvent(other.stream, fork, 0) == 902);
    CHECK(capture.end() == 901);
    CHECK(other.end() == 901);
  }
  SUBCASE("joined with uncaptured work") {
    CHECK(driver.cuEventRecord(fork, side) == 0);
    Capture capture(own);
    CHECK(driver.cuStreamWaitEvent(capture.stream, fork, 0) == 905);
    CHECK(capture.end() == 901);
  }
  SUBCASE("query of a captured event") {
    Capture capture(own, relaxed);
    CHECK(driver.cuEventRecord(fork, capture.stream) == 0);
    CHECK(driver.cuEventQuery(fork) == 907);
    CHECK(capture.end() == 901);
  }
}
