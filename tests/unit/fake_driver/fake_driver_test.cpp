// Tests the features that only the fake driver has: counters, failures on demand, reports, settings
// from the environment, its devices. agreement/ tests the behavior that drivers share.

#include "unit/runtime/machine.h"
#include "unit/runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace tritonc;

namespace {

std::string content(const std::string &file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// A unique temporary file.
struct TemporaryFile {
  TemporaryFile() {
    std::string pattern = std::filesystem::temp_directory_path() / "tritonc-report-XXXXXX";
    int file = mkstemp(pattern.data());
    REQUIRE(file >= 0);
    close(file);
    name = pattern;
  }
  ~TemporaryFile() { std::filesystem::remove(name); }
  std::string name;
};

/// A fake driver with a context and a stream.
struct Scene {
  explicit Scene(const std::string &settings = "")
      : machine(Machine::emulator, settings), driver(machine.driver()),
        context(driver.new_context()), stream(driver.new_stream()) {}

  cu::Kernel *load(const SampleKernel &sample, int image = 1) {
    cu::Library *library = nullptr;
    cu::Kernel *kernel = nullptr;
    REQUIRE(driver.cuLibraryLoadData(&library, &sample.codes[size_t(image)], nullptr, nullptr, 0,
                                     nullptr, nullptr, 0) == 0);
    REQUIRE(driver.cuLibraryGetKernel(&kernel, library, sample.codes[size_t(image)].name) == 0);
    return kernel;
  }
  cu::Pointer allocate(std::size_t bytes) {
    cu::Pointer memory = 0;
    REQUIRE(driver.cuMemAlloc_v2(&memory, bytes) == 0);
    return memory;
  }
  int launch(cu::Kernel *kernel, cu::Pointer source, cu::Pointer target, unsigned blocks = 1) {
    int n = 64;
    void *parameters[] = {&source, &target, &n};
    return driver.cuLaunchKernel(kernel, blocks, 1, 1, 32, 1, 1, 1024, nullptr, parameters,
                                 nullptr);
  }

  Machine machine;
  StandIn &driver;
  cu::Context *context;
  cu::Stream *stream;
};

} // namespace

TEST_CASE("fake driver: counts its objects") {
  Scene scene;
  StandIn &driver = scene.driver;
  cu::Counters before = driver.counters();
  CHECK(before.contexts == 1);
  CHECK(before.streams == 1);
  CHECK(before.depth == 1);
  cu::Pointer memory = scene.allocate(100);
  void *host = nullptr;
  cu::Event *event = nullptr;
  CHECK(driver.cuMemAllocHost_v2(&host, 50) == 0);
  CHECK(driver.cuEventCreate(&event, 0) == 0);
  cu::Counters now = driver.counters();
  CHECK(now.allocations == 2);
  CHECK(now.bytes == 100);
  CHECK(now.events == 1);
  CHECK(driver.cuMemFree_v2(memory) == 0);
  CHECK(driver.counters().bytes == 0);
  CHECK(driver.cuCtxDestroy_v2(scene.context) == 0);
  now = driver.counters();
  CHECK(now.contexts == 0);
  CHECK(now.streams == 0);
  CHECK(now.events == 0);
  CHECK(now.allocations == 0);
  CHECK(now.depth == 0);
}

TEST_CASE("fake driver: the n-th call fails on demand") {
  Scene scene;
  cu::Pointer memory = 0;
  scene.allocate(16);
  scene.driver.configure("fail=cuMemAlloc:2:2,fail=cuMemAlloc:3:999");
  int results[5];
  for (int &result : results)
    result = scene.driver.cuMemAlloc_v2(&memory, 16);
  CHECK(results[0] == 0);
  CHECK(results[1] == 2);
  CHECK(results[2] == 999);
  CHECK(results[3] == 0);
  CHECK(scene.driver.calls("cuMemAlloc") == 6);
  CHECK(scene.driver.counters().allocations == 4); // a call that fails does nothing
  scene.driver.configure("fail=cuMemAlloc:*:1");
  CHECK(scene.driver.cuMemAlloc_v2(&memory, 16) == 1);
  CHECK(scene.driver.cuMemAlloc_v2(&memory, 16) == 1);
  scene.driver.configure("seed=1,fail=none");
  CHECK(scene.driver.cuMemAlloc_v2(&memory, 16) == 0);
}

TEST_CASE("fake driver: writes reports to the report file") {
  TemporaryFile report;
  Scene scene("report=" + report.name);
  SampleKernel sample(SampleBody::copy);
  cu::Kernel *kernel = scene.load(sample);
  cu::Pointer source = scene.allocate(64 * 4), target = scene.allocate(64 * 4 - 1);
  REQUIRE(scene.driver.cuMemsetD8_v2(source, 0, 64 * 4) == 0);
  REQUIRE(scene.launch(kernel, source, target) == 0);
  CHECK(scene.driver.cuCtxSynchronize() == 700);
  std::string text = content(report.name);
  CHECK(text.find("sample.tc:1:1: error: ") == 0);
  CHECK(text.find("`target`") != std::string::npos);
}

TEST_CASE("fake driver: copies stay uninitialized") {
  TemporaryFile report;
  Scene scene("report=" + report.name);
  SampleKernel sample(SampleBody::copy);
  cu::Kernel *kernel = scene.load(sample);
  cu::Pointer source = scene.allocate(64 * 4), copy = scene.allocate(64 * 4),
              target = scene.allocate(64 * 4);
  REQUIRE(scene.driver.cuMemsetD8_v2(source, 0, 64 * 4 - 3) == 0);
  SUBCASE("copy has uninitialized bytes") {
    REQUIRE(scene.driver.cuMemcpyDtoD_v2(copy, source, 64 * 4) == 0);
    REQUIRE(scene.launch(kernel, copy, target) == 0);
    CHECK(scene.driver.cuCtxSynchronize() == 719);
    CHECK(content(report.name) != "");
  }
  SUBCASE("initialized before the copy") {
    REQUIRE(scene.driver.cuMemsetD8_v2(source + 64 * 4 - 3, 0, 3) == 0);
    REQUIRE(scene.driver.cuMemcpyDtoD_v2(copy, source, 64 * 4) == 0);
    REQUIRE(scene.launch(kernel, copy, target) == 0);
    CHECK(scene.driver.cuCtxSynchronize() == 0);
    CHECK(content(report.name) == "");
  }
}

TEST_CASE("fake driver: kernels use pinned and managed memory") {
  Scene scene;
  SampleKernel sample(SampleBody::copy);
  cu::Kernel *kernel = scene.load(sample);
  void *pinned = nullptr;
  cu::Pointer managed = 0;
  REQUIRE(scene.driver.cuMemHostAlloc(&pinned, 64 * 4, 0) == 0);
  REQUIRE(scene.driver.cuMemAllocManaged(&managed, 64 * 4, 1) == 0);
  auto *values = static_cast<int *>(pinned);
  for (int i = 0; i < 64; i++)
    values[i] = 3 * i;
  cu::Pointer source = 0;
  REQUIRE(scene.driver.cuMemHostGetDevicePointer_v2(&source, pinned, 0) == 0);
  REQUIRE(scene.launch(kernel, source, managed) == 0);
  REQUIRE(scene.driver.cuCtxSynchronize() == 0);
  CHECK(reinterpret_cast<int *>(managed)[63] == 189);
}

TEST_CASE("fake driver: rejects host, freed and out-of-bounds memory") {
  Scene scene;
  SampleKernel sample(SampleBody::copy);
  cu::Kernel *kernel = scene.load(sample);
  static int on_host[64];
  cu::Pointer there = scene.allocate(64 * 4), freed = scene.allocate(64 * 4);
  REQUIRE(scene.driver.cuMemsetD8_v2(there, 0, 64 * 4) == 0);
  REQUIRE(scene.driver.cuMemFree_v2(freed) == 0);
  int value = 0;
  CHECK(scene.driver.cuMemcpyDtoH_v2(&value, freed, 4) == 1);
  CHECK(scene.driver.cuMemcpyHtoD_v2(freed, &value, 4) == 1);
  CHECK(scene.driver.cuMemcpyDtoH_v2(&value, there + 64 * 4 - 3, 4) == 1);
  CHECK(scene.driver.cuMemsetD8_v2(there, 0, 64 * 4 + 1) == 1);
  cu::Pointer source = 0;
  SUBCASE("host memory") { source = reinterpret_cast<cu::Pointer>(on_host); }
  SUBCASE("freed memory") { source = freed; }
  SUBCASE("beyond the end") { source = there + 4; }
  REQUIRE(scene.launch(kernel, source, there) == 0);
  CHECK(scene.driver.cuCtxSynchronize() == 700);
}

TEST_CASE("fake driver: reuses address space") {
  Scene scene;
  for (int i = 0; i < 3000; i++) // 3 TiB in all
    REQUIRE(scene.driver.cuMemFree_v2(scene.allocate(std::size_t(1) << 30)) == 0);
}

TEST_CASE("fake driver: refuses code for another GPU") {
  SUBCASE("gpu= refuses it") {
    TemporaryFile report;
    Scene scene("gpu=80,report=" + report.name);
    SampleKernel sample;
    cu::Library *library = nullptr;
    CHECK(scene.driver.cuLibraryLoadData(&library, &sample.codes[1], nullptr, nullptr, 0, nullptr,
                                         nullptr, 0) == 209);
    CHECK(content(report.name).find("sm_90a") != std::string::npos);
    CHECK(scene.launch(scene.load(sample, 0), 0, 0) == 0);
  }
  SUBCASE("one of two devices refuses it") {
    Scene scene("gpu=80/90a");
    SampleKernel sample;
    cu::Kernel *kernel = scene.load(sample), *function = nullptr;
    CHECK(scene.launch(kernel, 0, 0) == 209);
    CHECK(scene.driver.cuKernelGetFunction(&function, kernel) == 209);
    scene.driver.new_context(1);
    CHECK(scene.launch(kernel, 0, 0) == 0);
  }
  SUBCASE("any GPU takes it") {
    Scene scene;
    SampleKernel sample;
    CHECK(scene.launch(scene.load(sample, 0), 0, 0) == 0);
    CHECK(scene.launch(scene.load(sample, 1), 0, 0) == 0);
  }
}

TEST_CASE("fake driver: a fault ruins only its device") {
  Scene scene("devices=2");
  SampleKernel sample(SampleBody::copy), harmless;
  cu::Kernel *kernel = scene.load(sample);
  REQUIRE(scene.launch(kernel, 64, 64) == 0);
  CHECK(scene.driver.cuCtxSynchronize() == 700);
  cu::Context *context = nullptr;
  REQUIRE(scene.driver.cuCtxCreate_v2(&context, 0, 1) == 0);
  CHECK(scene.launch(scene.load(harmless), 0, 0) == 0);
  CHECK(scene.driver.cuCtxSynchronize() == 0);
}

TEST_CASE("fake driver: a fault ends its graph") {
  Scene scene;
  SampleKernel sample(SampleBody::copy), after;
  cu::Kernel *kernel = scene.load(sample), *second = scene.load(after);
  cu::Pointer nowhere = 64;
  int n = 77;
  void *parameters[] = {&nowhere, &nowhere, &n};
  REQUIRE(scene.driver.cuStreamBeginCapture_v2(scene.stream, 0) == 0);
  for (cu::Kernel *one : {kernel, second})
    REQUIRE(scene.driver.cuLaunchKernel(one, 1, 1, 1, 32, 1, 1, 1024, scene.stream, parameters,
                                        nullptr) == 0);
  cu::Graph *graph = nullptr;
  cu::GraphExec *exec = nullptr;
  REQUIRE(scene.driver.cuStreamEndCapture(scene.stream, &graph) == 0);
  REQUIRE(scene.driver.cuGraphInstantiateWithFlags(&exec, graph, 0) == 0);
  CHECK(scene.driver.cuGraphLaunch(exec, scene.stream) == 0);
  CHECK(noted_args().n != 77);
  CHECK(scene.driver.cuStreamSynchronize(scene.stream) == 700);
}

namespace {

/// A graph that allocates memory, fills it, and frees it if `frees`.
struct MemoryGraph {
  MemoryGraph(Scene &of, bool frees, std::size_t bytes = 256) : driver(of.driver), s(of) {
    REQUIRE(driver.cuStreamBeginCapture_v2(s.stream, 0) == 0);
    CHECK(driver.cuMemAllocAsync(&memory, bytes, s.stream) == 0);
    CHECK(driver.cuMemsetD8Async(memory, 1, 16, s.stream) == 0);
    if (frees)
      CHECK(driver.cuMemFreeAsync(memory, s.stream) == 0);
    REQUIRE(driver.cuStreamEndCapture(s.stream, &graph) == 0);
  }
  int instantiate(unsigned long long flags = 0) {
    return driver.cuGraphInstantiateWithFlags(&exec, graph, flags);
  }
  int launch() { return driver.cuGraphLaunch(exec, s.stream); }

  StandIn &driver;
  Scene &s;
  cu::Pointer memory = 0;
  cu::Graph *graph = nullptr;
  cu::GraphExec *exec = nullptr;
};

} // namespace

TEST_CASE("fake driver: graph memory lives as long as its graphs") {
  Scene scene;
  StandIn &driver = scene.driver;
  MemoryGraph of(scene, true);
  CHECK(driver.counters().bytes == 256);
  SUBCASE("destroy the graph") {
    CHECK(driver.cuGraphDestroy(of.graph) == 0);
    CHECK(driver.counters().allocations == 0);
  }
  SUBCASE("destroy the executable graph last") {
    CHECK(of.instantiate() == 0);
    CHECK(driver.cuGraphDestroy(of.graph) == 0);
    CHECK(of.launch() == 0);
    CHECK(driver.counters().allocations == 1);
    CHECK(driver.cuGraphExecDestroy(of.exec) == 0);
    CHECK(driver.counters().allocations == 0);
  }
  SUBCASE("destroy the graph last") {
    CHECK(of.instantiate() == 0);
    CHECK(driver.cuGraphExecDestroy(of.exec) == 0);
    CHECK(of.instantiate() == 0); // allowed, because the first executable graph is destroyed
    CHECK(of.launch() == 0);
    CHECK(driver.cuGraphExecDestroy(of.exec) == 0);
    CHECK(driver.counters().allocations == 1);
    CHECK(driver.cuGraphDestroy(of.graph) == 0);
    CHECK(driver.counters().allocations == 0);
  }
  SUBCASE("destroy the context first") {
    CHECK(of.instantiate() == 0);
    CHECK(driver.cuCtxDestroy_v2(scene.context) == 0);
    CHECK(driver.counters().allocations == 0);
    driver.new_context();
    cu::Pointer other = 0;
    CHECK(driver.cuMemAlloc_v2(&other, 256) == 0);
    CHECK(driver.cuGraphDestroy(of.graph) == 0);
    CHECK(driver.counters().allocations == 1);
  }
  SUBCASE("reset") {
    driver.reset();
    CHECK(driver.counters().allocations == 0);
    CHECK(driver.counters().graphs == 0);
  }
}

TEST_CASE("fake driver: failed capture frees its memory") {
  Scene scene;
  StandIn &driver = scene.driver;
  cu::Pointer memory = 0;
  cu::Graph *graph = nullptr;
  REQUIRE(driver.cuStreamBeginCapture_v2(scene.stream, 0) == 0);
  CHECK(driver.cuMemAllocAsync(&memory, 256, scene.stream) == 0);
  CHECK(driver.counters().bytes == 256);
  SUBCASE("invalidated capture") {
    CHECK(driver.cuStreamSynchronize(scene.stream) == 900);
    CHECK(driver.cuMemAllocAsync(&memory, 256, scene.stream) == 901);
    CHECK(driver.cuMemFreeAsync(memory, scene.stream) == 901);
    CHECK(driver.cuStreamEndCapture(scene.stream, &graph) == 901);
  }
  SUBCASE("destroyed context") { CHECK(driver.cuCtxDestroy_v2(scene.context) == 0); }
  CHECK(driver.counters().bytes == 0);
}

TEST_CASE("fake driver: unfreed graph memory stays allocated") {
  Scene scene;
  StandIn &driver = scene.driver;
  MemoryGraph of(scene, false);
  CHECK(driver.cuMemFreeAsync(of.memory, scene.stream) == 1); // it is not there yet
  CHECK(driver.cuMemFree_v2(of.memory) == 1);
  SUBCASE("freed before the next launch") {
    CHECK(of.instantiate() == 0);
    CHECK(of.launch() == 0);
    CHECK(of.launch() == 1);
    CHECK(driver.cuMemFreeAsync(of.memory, scene.stream) == 0);
    CHECK(driver.cuMemFreeAsync(of.memory, scene.stream) == 1);
    CHECK(of.launch() == 0);
    CHECK(driver.cuMemFree_v2(of.memory) == 0);
    CHECK(of.launch() == 0);
    CHECK(driver.counters().allocations == 1);
  }
  SUBCASE("freed by the next launch") {
    CHECK(of.instantiate(1) == 0);
    CHECK(of.launch() == 0);
    CHECK(of.launch() == 0);
  }
  SUBCASE("freed by another graph") {
    cu::Graph *freeing = nullptr;
    cu::GraphExec *exec = nullptr;
    REQUIRE(driver.cuStreamBeginCapture_v2(scene.stream, 0) == 0);
    CHECK(driver.cuMemFreeAsync(of.memory, scene.stream) == 0);
    CHECK(driver.cuMemFreeAsync(of.memory, scene.stream) == 1); // once
    REQUIRE(driver.cuStreamEndCapture(scene.stream, &freeing) == 0);
    REQUIRE(driver.cuGraphInstantiateWithFlags(&exec, freeing, 0) == 0);
    CHECK(of.instantiate() == 0);
    for (int round = 0; round < 2; round++) {
      CHECK(of.launch() == 0);
      CHECK(driver.cuGraphLaunch(exec, scene.stream) == 0);
    }
    CHECK(driver.cuGraphLaunch(exec, scene.stream) == 1);
  }
  SUBCASE("outlives the graph") {
    CHECK(of.instantiate() == 0);
    CHECK(of.launch() == 0);
    CHECK(driver.cuGraphExecDestroy(of.exec) == 0);
    CHECK(driver.cuGraphDestroy(of.graph) == 0);
    CHECK(driver.counters().bytes == 256);
    char value = 0;
    CHECK(driver.cuMemcpyDtoH_v2(&value, of.memory, 1) == 0);
    CHECK(value == 1);
    CHECK(driver.cuMemFreeAsync(of.memory, scene.stream) == 0);
    CHECK(driver.counters().bytes == 0);
  }
}

TEST_CASE("fake driver: each graph launch has uninitialized memory") {
  Scene scene;
  StandIn &driver = scene.driver;
  SampleKernel sample(SampleBody::copy);
  cu::Kernel *kernel = scene.load(sample);
  cu::Pointer target = scene.allocate(1024), memory = 0;
  for (bool is_filled : {true, false}) {
    CAPTURE(is_filled);
    cu::Graph *graph = nullptr;
    cu::GraphExec *exec = nullptr;
    REQUIRE(driver.cuStreamBeginCapture_v2(scene.stream, 0) == 0);
    CHECK(driver.cuMemAllocAsync(&memory, 1024, scene.stream) == 0);
    if (is_filled)
      CHECK(driver.cuMemsetD8Async(memory, 1, 1024, scene.stream) == 0);
    int n = 64;
    void *parameters[] = {&memory, &target, &n};
    CHECK(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 1024, scene.stream, parameters,
                                nullptr) == 0);
    CHECK(driver.cuMemFreeAsync(memory, scene.stream) == 0);
    REQUIRE(driver.cuStreamEndCapture(scene.stream, &graph) == 0);
    REQUIRE(driver.cuGraphInstantiateWithFlags(&exec, graph, 0) == 0);
    if (!is_filled) // filled outside the graph, before its launch
      CHECK(driver.cuMemsetD8_v2(memory, 1, 1024) == 0);
    CHECK(driver.cuGraphLaunch(exec, scene.stream) == 0);
    CHECK(driver.cuStreamSynchronize(scene.stream) == (is_filled ? 0 : 719));
  }
}

TEST_CASE("fake driver: reset destroys pools") {
  Scene scene("devices=2");
  StandIn &driver = scene.driver;
  cu::PoolProperties properties = {};
  properties.allocation = cu::pinned_allocation;
  properties.location = {cu::location_is_device, 1};
  cu::Pool *pool = nullptr, *own = nullptr;
  CHECK(driver.cuMemPoolCreate(&pool, &properties) == 0);
  CHECK(driver.counters().pools == 1);
  cu::Pointer memory = 0;
  CHECK(driver.cuMemAllocFromPoolAsync(&memory, 64, pool, scene.stream) == 801); // another device's
  CHECK(driver.cuDeviceGetDefaultMemPool(&own, 1) == 0);
  CHECK(driver.cuMemAllocFromPoolAsync(&memory, 64, own, scene.stream) == 801);
  CHECK(driver.cuMemPoolDestroy(own) == 1);
  driver.reset();
  CHECK(driver.counters().pools == 0);
  CHECK(driver.cuInit(0) == 0);
  CHECK(driver.cuMemPoolDestroy(pool) == 1);
}

TEST_CASE("fake driver: pools=off refuses pools") {
  Scene scene("pools=off");
  StandIn &driver = scene.driver;
  cu::PoolProperties properties = {};
  properties.allocation = cu::pinned_allocation;
  properties.location = {cu::location_is_device, 0};
  cu::Pool *pool = nullptr;
  cu::Pointer memory = 0;
  int value = -1;
  CHECK(driver.cuDeviceGetAttribute(&value, 115, 0) == 0);
  CHECK(value == 0);
  CHECK(driver.cuMemPoolCreate(&pool, &properties) == 801);
  CHECK(driver.cuMemAllocAsync(&memory, 64, scene.stream) == 801);
  CHECK(driver.cuMemAlloc_v2(&memory, 64) == 0);
}

TEST_CASE("fake driver: records programmatic serialization") {
  Scene scene;
  SampleKernel sample;
  cu::Kernel *kernel = scene.load(sample);
  cu::Pointer source = scene.allocate(1024), target = scene.allocate(1024);
  REQUIRE(scene.driver.cuMemsetD8_v2(source, 1, 1024) == 0);
  int n = 64;
  void *parameters[] = {&source, &target, &n};
  for (int value : {1, 0}) {
    cu::LaunchAttribute attribute = {};
    attribute.id = cu::LaunchAttribute::programmatic_serialization;
    attribute.value.may_start_early = value;
    cu::LaunchConfig config = {1, 1, 1, 32, 1, 1, 1024, scene.stream, &attribute, 1};
    CHECK(scene.driver.cuLaunchKernelEx(&config, kernel, parameters, nullptr) == 0);
    CHECK(scene.driver.last_launch().starts_early == (value != 0));
    config.attribute_count = 0;
    CHECK(scene.driver.cuLaunchKernelEx(&config, kernel, parameters, nullptr) == 0);
    CHECK_FALSE(scene.driver.last_launch().starts_early);
  }
  CHECK(scene.driver.cuStreamSynchronize(scene.stream) == 0);
}

TEST_CASE("fake driver: invalid handles are errors") {
  Scene scene;
  StandIn &driver = scene.driver;
  auto *nonsense = reinterpret_cast<void *>(0x1234560);
  CHECK(driver.cuStreamSynchronize(static_cast<cu::Stream *>(nonsense)) == 400);
  CHECK(driver.cuEventSynchronize(static_cast<cu::Event *>(nonsense)) == 400);
  CHECK(driver.cuLibraryUnload(static_cast<cu::Library *>(nonsense)) == 400);
  CHECK(driver.cuModuleUnload(static_cast<cu::Module *>(nonsense)) == 400);
  CHECK(scene.launch(static_cast<cu::Kernel *>(nonsense), 0, 0) == 400);
  CHECK(driver.cuCtxSetCurrent(static_cast<cu::Context *>(nonsense)) == 201);
  CHECK(driver.cuGraphDestroy(static_cast<cu::Graph *>(nonsense)) == 1);
  cu::Pointer memory = 0;
  auto *pool = static_cast<cu::Pool *>(nonsense);
  int value = 0;
  CHECK(driver.cuMemAllocFromPoolAsync(&memory, 16, pool, scene.stream) == 1);
  CHECK(driver.cuMemPoolSetAttribute(pool, 1, &value) == 1);
  CHECK(driver.cuMemPoolDestroy(pool) == 1);
  SampleKernel sample;
  cu::Kernel *kernel = scene.load(sample);
  cu::Library *library = nullptr;
  REQUIRE(driver.cuKernelGetLibrary(&library, kernel) == 0);
  REQUIRE(driver.cuLibraryUnload(library) == 0);
  CHECK(scene.launch(kernel, 0, 0) == 400);
  REQUIRE(driver.cuStreamDestroy_v2(scene.stream) == 0);
  CHECK(driver.cuStreamQuery(scene.stream) == 400);
}

TEST_CASE("fake driver: computes occupancy") {
  Scene scene("gpu=90a");
  SampleKernel sample;
  cu::Kernel *kernel = scene.load(sample);
  StandIn &driver = scene.driver;
  int blocks = -1, threads = -1;
  std::size_t bytes = 0;
  CHECK(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, 0) == 0);
  CHECK(blocks == 32);
  CHECK(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, 48 * 1024) == 0);
  CHECK(blocks == 4);
  CHECK(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 64, 0) == 0);
  CHECK(blocks == 0);
  CHECK(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 0, 0) == 1);
  CHECK(driver.cuOccupancyMaxPotentialBlockSize(&blocks, &threads, kernel, nullptr, 0, 0) == 0);
  CHECK(threads == 32);
  CHECK(blocks == 32 * 132);
  CHECK(driver.cuOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 2, 32) == 0);
  CHECK(bytes == 233472 / 2 - 1024);
  cu::LaunchConfig config = {1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, 0};
  CHECK(driver.cuOccupancyMaxActiveClusters(&blocks, kernel, &config) == 0);
  CHECK(blocks == 32 * 132);
}

TEST_CASE("fake driver: reset restores the initial state") {
  Scene scene;
  SampleKernel sample;
  scene.load(sample);
  scene.allocate(16);
  scene.driver.reset();
  CHECK(scene.driver.counters().libraries == 0);
  CHECK(scene.driver.counters().allocations == 0);
  int count = 0;
  CHECK(scene.driver.cuDeviceGetCount(&count) == 3);
  scene.driver.cuCtxPopCurrent_v2(nullptr);
  CHECK(scene.driver.cuInit(0) == 0);
}

// ---- the environment ----

namespace {

struct Outcome {
  int result; // of cuInit
  std::string said;
};

/// Runs cuInit in a process with this value of TRITONC_EMULATOR.
Outcome init_with(const char *variable) {
  TemporaryFile said;
  std::cout << std::flush;
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Machine machine(Machine::no_file);
    std::string copy = said.name + ".so";
    std::filesystem::copy_file(TRITONC_EMULATOR_LIBRARY, copy);
    setenv("TRITONC_EMULATOR", variable, 1);
    if (!std::freopen(said.name.c_str(), "w", stderr))
      _exit(100);
    StandIn driver(copy);
    std::filesystem::remove(copy);
    int result = driver.cuInit(0), version = 0;
    driver.cuDriverGetVersion(&version);
    std::fprintf(stderr, "version %d\n", version);
    std::fflush(stderr);
    _exit(result);
  }
  int state = -1;
  REQUIRE(waitpid(child, &state, 0) == child);
  REQUIRE(WIFEXITED(state));
  return {WEXITSTATUS(state), content(said.name)};
}

} // namespace

TEST_CASE("fake driver: reads settings from the environment") {
  Outcome right = init_with("version=12080");
  CHECK(right.result == 0);
  CHECK(right.said == "version 12080\n");
  CHECK(init_with("devices=0").result == 100);
}

TEST_CASE("fake driver: a wrong setting prints one line") {
  Outcome wrong = init_with("version=12080,order=backwards");
  CHECK(wrong.result == 1);
  CHECK(wrong.said ==
        "TRITONC_EMULATOR: `order=backwards`: the value must be one of forward, reversed, random\n"
        "version 12040\n");
}

// ---- the end of a process ----

namespace {

StandIn *late_driver = nullptr;
int late_process = 0;

/// Runs among the program's last destructors.
struct Late {
  ~Late() {
    if (late_process != getpid())
      return;
    int count = 0;
    int result = late_driver->cuDeviceGetCount(&count);
    bool is_right = result == 0 || result == 4; // 4: the library has already been finalized
    _exit(is_right ? 0 : 1);
  }
} late;

} // namespace

TEST_CASE("fake driver: call during process exit does not crash") {
  std::cout << std::flush;
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    auto *machine = new Machine(Machine::emulator); // never deleted
    machine->driver().new_context();
    late_driver = &machine->driver();
    late_process = getpid();
    std::exit(2); // runs the destructors
  }
  int state = -1;
  REQUIRE(waitpid(child, &state, 0) == child);
  CHECK(state == 0);
}
