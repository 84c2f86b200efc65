// Tests that the fake driver agrees with the driver: launches, streams, events. See agreement.h.

#include "unit/fake_driver/agreement/agreement.h"

#include <atomic>
#include <cstdint>
#include <thread>

TEST_CASE("launch: refuses invalid configurations without harm") {
  Own own;
  cu::Kernel *kernel = get_kernel();
  Operands operands = {own.memory(64 * 4 * 4), own.memory(64 * 4 * 4)};
  auto with = [&](auto change) {
    Shape shape;
    change(shape);
    return launch(kernel, operands, nullptr, shape);
  };
  CHECK(with([](Shape &s) { s.grid[0] = 0; }) == 1);
  CHECK(with([](Shape &s) { s.grid[1] = 0; }) == 1);
  CHECK(with([](Shape &s) { s.block[0] = 0; }) == 1);
  CHECK(with([](Shape &s) { s.block[0] = 96; }) == 1); // more than the code's max
  CHECK(with([](Shape &s) { s.block[0] = 1056; }) == 1);
  CHECK(with([](Shape &s) { s.block[2] = 65; }) == 1);
  CHECK(with([](Shape &s) { s.grid[0] = 0x80000000; }) == 1);
  CHECK(with([](Shape &s) { s.grid[1] = 65536; }) == 1);
  CHECK(with([](Shape &s) { s.grid[2] = 65536; }) == 1);
  CHECK(with([](Shape &s) { s.shared_bytes = 49153; }) == 1);
  CHECK(with([](Shape &s) { s.shared_bytes = 49152; }) == 0);
  CHECK(driver.cuKernelSetAttribute(8, 100000, kernel, 0) == 0);
  CHECK(with([](Shape &s) { s.shared_bytes = 100000; }) == 0);
  CHECK(with([](Shape &s) { s.shared_bytes = 100001; }) == 1);
  CHECK(with([](Shape &s) { s.block[0] = 32; }) == (is_real ? 0 : 801)); // less than the code's max
  CHECK(driver.cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr) == 1);
  CHECK(driver.cuCtxSynchronize() == 0);
  CHECK(launch(kernel, operands) == 0);
  CHECK(driver.cuCtxSynchronize() == 0);
}

TEST_CASE("launch: takes arguments in a packed buffer") {
  Own own;
  cu::Pointer source = own.memory(256), target = own.memory(256);
  struct {
    cu::Pointer source, target;
    int n;
  } packed = {source, target, 5};
  std::size_t bytes = 20; // up to the end of the last argument
  void *extra[] = {reinterpret_cast<void *>(1), &packed, reinterpret_cast<void *>(2), &bytes,
                   nullptr};
  cu::Kernel *kernel = get_kernel();
  auto launch_packed = [&] {
    return driver.cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra);
  };
  CHECK(launch_packed() == 0);
  int back = 0;
  CHECK(driver.cuMemcpyDtoH_v2(&back, target, 4) == 0);
  CHECK(back == 5);
  bytes = sizeof packed;
  CHECK(launch_packed() == 701);
  bytes = 16;
  CHECK(launch_packed() == (is_real ? 0 : 701)); // the driver reads beyond the buffer
}

TEST_CASE("launch: accepts and refuses cluster sizes") {
  Own own;
  cu::Kernel *kernel = get_kernel(), *pairs = get_kernel("add_in_pairs");
  Operands operands = {own.memory(64 * 4 * 32), own.memory(64 * 4 * 32)};
  CHECK(launch_in_clusters(kernel, operands, 4, 1) == 0);
  // The emulator runs code in clusters only if the code is compiled for clusters.
  CHECK(launch_in_clusters(kernel, operands, 4, 2) == (is_real ? 0 : 801));
  CHECK(launch_in_clusters(kernel, operands, 8, 8) == (is_real ? 0 : 801));
  CHECK(launch_in_clusters(kernel, operands, 4, 3) == (is_real ? 912 : 801));   // does not divide
  CHECK(launch_in_clusters(kernel, operands, 16, 16) == (is_real ? 912 : 801)); // above 8
  CHECK(launch_in_clusters(pairs, operands, 4, 2) == 0);
  CHECK(launch_in_clusters(pairs, operands, 4, 4) == 912); // compiled for 2
  Shape shape;
  shape.grid[0] = 4;
  CHECK(launch(pairs, operands, nullptr, shape) == 0);
  shape.grid[0] = 3;
  CHECK(launch(pairs, operands, nullptr, shape) == 912); // does not divide
  CHECK(driver.cuCtxSynchronize() == 0);
}

TEST_CASE("launch: a function needs its context, a kernel does not") {
  Own first;
  cu::Kernel *kernel = get_kernel(), *function = nullptr;
  CHECK(driver.cuKernelGetFunction(&function, kernel) == 0);
  Operands operands = {first.memory(256), first.memory(256)};
  cu::Stream *stream = first.stream();
  {
    Own second;
    CHECK(launch(kernel, operands, stream) == 0);
    cu::Stream *other = second.stream();
    CHECK(launch(function, operands, other) == 400);
    cu::Context *context = nullptr;
    CHECK(driver.cuStreamGetCtx(stream, &context) == 0);
    CHECK(context == first.context);
  }
  CHECK(launch(function, operands, stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
}

TEST_CASE("launch: needs a context only on default streams") {
  Own own;
  cu::Kernel *kernel = get_kernel(), *function = nullptr;
  CHECK(driver.cuKernelGetFunction(&function, kernel) == 0);
  Operands operands = {own.memory(256), own.memory(256)};
  cu::Stream *stream = own.stream();
  std::thread([&] {
    cu::Context *context = nullptr;
    cu::Device device = -1;
    CHECK(launch(kernel, operands, stream) == 0);
    CHECK(launch(function, operands, stream) == 0);
    for (std::uintptr_t special : {0, 1, 2})
      CHECK(launch(kernel, operands, reinterpret_cast<cu::Stream *>(special)) == 201);
    CHECK(driver.cuStreamGetCtx(stream, &context) == 0);
    CHECK(context == own.context);
    if (driver.cuStreamGetDevice)
      CHECK(driver.cuStreamGetDevice(stream, &device) == 0);
    CHECK(driver.cuStreamSynchronize(stream) == 0);
    CHECK(driver.cuCtxGetCurrent(&context) == 0);
    CHECK(context == nullptr);
  }).join();
}

TEST_CASE("stream: flags, events and host functions") {
  Own own;
  cu::Stream *stream = own.stream(1);
  unsigned flags = 0;
  int priority = -1, least = -1, greatest = 1;
  unsigned long long id = 0, other = 0;
  CHECK(driver.cuStreamGetFlags(stream, &flags) == 0);
  CHECK(flags == 1);
  CHECK(driver.cuStreamGetPriority(stream, &priority) == 0);
  CHECK(priority == 0);
  CHECK(driver.cuCtxGetStreamPriorityRange(&least, &greatest) == 0);
  CHECK(least == 0);
  CHECK(greatest == -5);
  CHECK(driver.cuStreamGetId(stream, &id) == 0);
  CHECK(driver.cuStreamGetId(own.stream(), &other) == 0);
  CHECK(id != other);
  CHECK(driver.cuStreamCreate(&stream, 0x80) == 1);
  CHECK(driver.cuStreamQuery(stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);

  cu::Event *first = own.event(), *last = own.event(), *untimed = own.event(2);
  float milliseconds = -1;
  CHECK(driver.cuEventQuery(first) == 0); // not recorded
  CHECK(driver.cuEventSynchronize(first) == 0);
  CHECK(driver.cuEventElapsedTime(&milliseconds, first, last) == 400);
  CHECK(driver.cuEventRecord(first, stream) == 0);
  CHECK(driver.cuEventRecord(last, stream) == 0);
  CHECK(driver.cuEventRecord(untimed, stream) == 0);
  CHECK(driver.cuEventSynchronize(last) == 0);
  CHECK(driver.cuEventSynchronize(untimed) == 0);
  CHECK(driver.cuEventElapsedTime(&milliseconds, first, last) == 0);
  CHECK(milliseconds >= 0);
  CHECK(driver.cuEventElapsedTime(&milliseconds, first, untimed) == 400);
  CHECK(driver.cuEventCreate(&first, 0x80) == 1);
  CHECK(driver.cuStreamWaitEvent(stream, last, 0) == 0);
  CHECK(driver.cuEventDestroy_v2(last) == 0);

  static std::atomic<int> inner{-1};
  inner = -1;
  CHECK(driver.cuLaunchHostFunc(
            stream,
            [](void *) {
              cu::Pointer memory = 0;
              inner = driver.cuMemAlloc_v2(&memory, 16);
            },
            nullptr) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
  CHECK(inner == 800);
  CHECK(driver.cuLaunchHostFunc(stream, nullptr, nullptr) == 1);
  CHECK(driver.cuStreamDestroy_v2(stream) == 0);
}
