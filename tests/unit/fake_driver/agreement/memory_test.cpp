// Tests that the fake driver agrees with the driver: memory, pools, constant memory, tensor maps.
// See agreement.h.

#include "unit/fake_driver/agreement/agreement.h"

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

TEST_CASE("memory: allocates, copies, sets and frees") {
  Own own;
  cu::Pointer memory = 0, other = 0;
  CHECK(driver.cuMemAlloc_v2(&memory, 0) == 1);
  CHECK(driver.cuMemAlloc_v2(nullptr, 16) == 1);
  CHECK(driver.cuMemAlloc_v2(&memory, std::size_t(1) << 50) == 2);
  CHECK(driver.cuMemAlloc_v2(&memory, 4096) == 0);
  CHECK(memory % 256 == 0);
  CHECK(driver.cuMemAlloc_v2(&other, 4096) == 0);
  CHECK(driver.cuMemFree_v2(0) == 0);
  CHECK(driver.cuMemFree_v2(memory + 16) == 1);
  CHECK(driver.cuMemFree_v2(64) == 1);

  int values[] = {1, 2, 3, 4}, back[4] = {};
  CHECK(driver.cuMemcpyHtoD_v2(memory, values, 16) == 0);
  CHECK(driver.cuMemcpyDtoD_v2(other, memory, 16) == 0);
  CHECK(driver.cuMemcpyDtoH_v2(back, other, 16) == 0);
  CHECK(back[3] == 4);
  CHECK(driver.cuMemcpyHtoD_v2(64, values, 16) == 1);
  CHECK(driver.cuMemcpyDtoH_v2(back, 64, 16) == 1);
  CHECK(driver.cuMemcpyHtoD_v2(memory, values, 0) == 0);
  CHECK(driver.cuMemcpy(other, reinterpret_cast<cu::Pointer>(values), 8) == 0);

  CHECK(driver.cuMemsetD32_v2(memory, 0x01020304, 4) == 0);
  CHECK(driver.cuMemsetD16_v2(memory, 0x0506, 1) == 0);
  CHECK(driver.cuMemsetD8_v2(memory, 7, 1) == 0);
  CHECK(driver.cuMemcpyDtoH_v2(back, memory, 16) == 0);
  CHECK(back[0] == 0x01020507);
  CHECK(back[3] == 0x01020304);
  CHECK(driver.cuMemsetD32_v2(memory + 2, 0, 1) == 1);
  CHECK(driver.cuMemsetD16_v2(memory + 1, 0, 1) == 1);
  CHECK(driver.cuMemsetD8_v2(64, 0, 1) == 1);
  CHECK(driver.cuMemsetD8_v2(memory, 0, 0) == 0);
  CHECK(driver.cuMemsetD2D32_v2(memory, 64, 9, 2, 3) == 0);
  CHECK(driver.cuMemcpyDtoH_v2(back, memory + 128, 16) == 0);
  CHECK(back[1] == 9);

  std::size_t free = 0, total = 0;
  CHECK(driver.cuMemGetInfo_v2(&free, &total) == 0);
  CHECK(free < total);
  cu::Pointer base = 0;
  std::size_t bytes = 0;
  CHECK(driver.cuMemGetAddressRange_v2(&base, &bytes, memory + 100) == 0);
  CHECK(base == memory);
  CHECK(bytes == 4096);
  CHECK(driver.cuMemGetAddressRange_v2(&base, &bytes, 64) == 500);
  CHECK(driver.cuMemFree_v2(memory) == 0);
  CHECK(driver.cuMemFree_v2(memory) == 1);
}

TEST_CASE("pointer: attributes of device and host memory") {
  Own own;
  cu::Pointer memory = own.memory(4096);
  unsigned kind = 0;
  int ordinal = -1, on_stack = 0;
  cu::Context *context = nullptr;
  CHECK(driver.cuPointerGetAttribute(&kind, 2, memory + 10) == 0);
  CHECK(kind == 2);
  CHECK(driver.cuPointerGetAttribute(&context, 1, memory) == 0);
  CHECK(context == own.context);
  CHECK(driver.cuPointerGetAttribute(&ordinal, 9, memory) == 0);
  CHECK(ordinal == 0);
  auto host = reinterpret_cast<cu::Pointer>(&on_stack);
  CHECK(driver.cuPointerGetAttribute(&kind, 2, host) == 1);
  cu::Pointer begin = 0;
  CHECK(driver.cuPointerGetAttribute(&begin, 11, memory + 10) == 0);
  CHECK(begin == memory);
  void *pinned = nullptr;
  CHECK(driver.cuMemAllocHost_v2(&pinned, 4096) == 0);
  CHECK(driver.cuPointerGetAttribute(&kind, 2, reinterpret_cast<cu::Pointer>(pinned)) == 0);
  CHECK(kind == 1);
  cu::Pointer device = 0;
  CHECK(driver.cuMemHostGetDevicePointer_v2(&device, pinned, 0) == 0);
  CHECK(driver.cuMemHostGetDevicePointer_v2(&device, &on_stack, 0) == 1);
  CHECK(driver.cuMemFreeHost(pinned) == 0);
  CHECK(driver.cuMemFreeHost(&on_stack) == 1);
  int attributes[] = {2, 9};
  void *values[] = {&kind, &ordinal};
  CHECK(driver.cuPointerGetAttributes(2, attributes, values, host) == 0);
  CHECK(kind == 0);
  CHECK(ordinal == -2);
}

TEST_CASE("constant memory: separate per context, compiled values first") {
  Own own;
  cu::Library *library = load("add");
  const char *const name = "tritonc_constants";
  cu::Pointer block = 0, again = 0;
  std::size_t bytes = 0;
  REQUIRE(driver.cuLibraryGetGlobal(&block, &bytes, library, name) == 0);
  CHECK(bytes == 32);
  CHECK(driver.cuLibraryGetGlobal(&again, nullptr, library, name) == 0);
  CHECK(again == block);
  CHECK(driver.cuLibraryGetGlobal(nullptr, &bytes, library, name) == 0);
  CHECK(driver.cuLibraryGetGlobal(&block, &bytes, library, nullptr) == 1);
  auto values = [&](cu::Pointer from) {
    std::vector<int> found(3);
    CHECK(driver.cuMemcpyDtoH_v2(found.data(), from, 12) == 0);
    return found;
  };
  CHECK(values(block) == std::vector<int>{7, 8, 0});
  cu::Stream *stream = own.stream();
  const int filled[] = {10, 11};
  CHECK(driver.cuMemcpyHtoDAsync_v2(block + 4, filled, 8, stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
  CHECK(values(block) == std::vector<int>{7, 10, 11});

  cu::Module *module = nullptr;
  CHECK(driver.cuLibraryGetModule(&module, library) == 0);
  CHECK(driver.cuModuleGetGlobal_v2(&again, &bytes, module, name) == 0);
  CHECK(again == block);
  CHECK(bytes == 32);
  cu::Kernel *kernel = nullptr;
  CHECK(driver.cuLibraryGetKernel(&kernel, library, "add") == 0);
  {
    Own other; // another context
    REQUIRE(driver.cuLibraryGetGlobal(&again, &bytes, library, name) == 0);
    CHECK(values(again) == std::vector<int>{7, 8, 0});
    CHECK(driver.cuMemcpyHtoD_v2(again, filled, 8) == 0);
  }
  CHECK(values(block) == std::vector<int>{7, 10, 11});

  // While another stream is being captured, a thread in relaxed mode may find and fill constants.
  cu::Stream *capturing = own.stream(1);
  int mode = 2;
  REQUIRE(driver.cuStreamBeginCapture_v2(capturing, 0) == 0);
  CHECK(driver.cuThreadExchangeStreamCaptureMode(&mode) == 0);
  CHECK(driver.cuLibraryGetGlobal(&again, &bytes, load("add"), name) == 0);
  CHECK(driver.cuMemcpyHtoDAsync_v2(again, filled, 8, stream) == 0);
  CHECK(driver.cuThreadExchangeStreamCaptureMode(&mode) == 0);
  cu::Graph *graph = nullptr;
  CHECK(driver.cuStreamEndCapture(capturing, &graph) == 0);
  CHECK(values(again) == std::vector<int>{10, 11, 0});
}

TEST_CASE("memory: allocates in stream order") {
  Own own;
  cu::Stream *stream = own.stream();
  cu::Pointer memory = 0;
  int value = 0;
  CHECK(driver.cuMemAllocAsync(&memory, 4096, stream) == 0);
  CHECK(driver.cuMemsetD32Async(memory, 3, 4, stream) == 0);
  CHECK(driver.cuMemcpyDtoHAsync_v2(&value, memory, 4, stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
  CHECK(value == 3);
  CHECK(driver.cuMemFreeAsync(memory, stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
}

TEST_CASE("memory pool: allocates in stream order") {
  Own own;
  cu::Stream *stream = own.stream();
  cu::Pool *pool = make_pool();
  Operands operands = {0, own.memory(256), 7};
  cu::Kernel *kernel = get_kernel();
  int value = 0;
  for (int round = 0; round < 3; round++) {
    CHECK(driver.cuMemAllocFromPoolAsync(&operands.source, 256, pool, stream) == 0);
    CHECK(operands.source % 256 == 0);
    CHECK(driver.cuMemsetD32Async(operands.source, 3, 64, stream) == 0);
    CHECK(launch(kernel, operands, stream) == 0);
    CHECK(driver.cuMemFreeAsync(operands.source, stream) == 0);
    CHECK(driver.cuMemcpyDtoHAsync_v2(&value, operands.target, 4, stream) == 0);
    CHECK(driver.cuStreamSynchronize(stream) == 0);
    CHECK(value == 10);
  }
  // Two allocations do not overlap.
  cu::Pointer one = 0, other = 0;
  CHECK(driver.cuMemAllocFromPoolAsync(&one, 4096, pool, stream) == 0);
  CHECK(driver.cuMemAllocFromPoolAsync(&other, 4096, pool, own.stream()) == 0);
  CHECK((one + 4096 <= other || other + 4096 <= one));
  CHECK(driver.cuMemFreeAsync(one, stream) == 0);
  CHECK(driver.cuMemFreeAsync(other, stream) == 0);
  CHECK(driver.cuMemAllocFromPoolAsync(&one, 16, pool, nullptr) == 0); // the legacy stream
  CHECK(driver.cuMemFreeAsync(one, nullptr) == 0);
  CHECK(driver.cuCtxSynchronize() == 0);
  CHECK(driver.cuMemPoolTrimTo(pool, 0) == 0);
  CHECK(driver.cuMemPoolDestroy(pool) == 0);
}

TEST_CASE("memory pool: allocations outlive the pool") {
  Own own;
  cu::Stream *stream = own.stream();
  cu::Pool *pool = make_pool();
  cu::Pointer memory = 0;
  int value = 0;
  CHECK(driver.cuMemAllocFromPoolAsync(&memory, 256, pool, stream) == 0);
  CHECK(driver.cuMemPoolDestroy(pool) == 0);
  CHECK(driver.cuMemsetD32Async(memory, 3, 4, stream) == 0);
  CHECK(driver.cuMemcpyDtoHAsync_v2(&value, memory, 4, stream) == 0);
  CHECK(driver.cuMemFreeAsync(memory, stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
  CHECK(value == 3);
}

TEST_CASE("memory pool: needs a context only on default streams") {
  Own own;
  cu::Stream *stream = own.stream();
  cu::Pool *pool = make_pool();
  std::thread([&] {
    cu::Pointer memory = 0;
    CHECK(driver.cuMemAllocFromPoolAsync(&memory, 256, pool, stream) == 0);
    CHECK(driver.cuMemFreeAsync(memory, stream) == 0);
    CHECK(driver.cuMemAllocFromPoolAsync(&memory, 256, pool, nullptr) == 201);
    CHECK(driver.cuMemFreeAsync(memory, nullptr) == 201);
  }).join();
  CHECK(driver.cuStreamSynchronize(stream) == 0);
  CHECK(driver.cuMemPoolDestroy(pool) == 0);
}

TEST_CASE("memory pool: refuses invalid arguments") {
  Own own;
  cu::Stream *stream = own.stream();
  cu::Pool *pool = nullptr, *default_pool = nullptr;
  cu::Pointer memory = 0;
  auto made_with = [&](auto change) {
    cu::PoolProperties properties = pool_properties();
    change(properties);
    return driver.cuMemPoolCreate(&pool, &properties);
  };
  using Properties = cu::PoolProperties;
  CHECK(made_with([](Properties &p) { p.allocation = 0; }) == 1);
  CHECK(made_with([](Properties &p) { p.reserved[53] = 1; }) == 1);
  CHECK(made_with([](Properties &p) { p.location.id = 1000; }) != 0);
  CHECK(made_with([](Properties &p) { p.location.kind = 0; }) != 0);
  CHECK(driver.cuDeviceGetDefaultMemPool(&default_pool, 0) == 0);
  CHECK(driver.cuMemPoolDestroy(default_pool) == 1);
  pool = make_pool();
  CHECK(driver.cuMemAllocFromPoolAsync(nullptr, 16, pool, stream) == 1);
  CHECK(driver.cuMemAllocFromPoolAsync(&memory, std::size_t(1) << 50, pool, stream) == 2);
  CHECK(driver.cuMemFreeAsync(64, stream) == 1);
  CHECK(driver.cuMemAllocFromPoolAsync(&memory, 16, pool, stream) == 0); // still works
  CHECK(driver.cuMemFreeAsync(memory, stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
  CHECK(driver.cuMemPoolDestroy(pool) == 0);
}

TEST_CASE("memory pool: outlives its contexts" * doctest::skip()) {
  cu::Pool *pool = nullptr;
  cu::Context *primary = nullptr, *popped = nullptr;
  auto use = [&] {
    cu::Pointer memory = 0;
    int value = 0;
    CHECK(driver.cuMemAllocFromPoolAsync(&memory, 4096, pool, nullptr) == 0);
    CHECK(driver.cuMemsetD32Async(memory, 3, 4, nullptr) == 0);
    CHECK(driver.cuMemcpyDtoHAsync_v2(&value, memory, 4, nullptr) == 0);
    CHECK(driver.cuMemFreeAsync(memory, nullptr) == 0);
    CHECK(driver.cuStreamSynchronize(nullptr) == 0);
    CHECK(value == 3);
  };
  {
    Own own;
    pool = make_pool();
    use();
  }
  {
    Own own;
    use();
  }
  for (int round = 0; round < 2; round++) {
    REQUIRE(driver.cuDevicePrimaryCtxRetain(&primary, 0) == 0);
    REQUIRE(driver.cuCtxPushCurrent_v2(primary) == 0);
    use();
    REQUIRE(driver.cuCtxPopCurrent_v2(&popped) == 0);
    REQUIRE(driver.cuDevicePrimaryCtxReset_v2(0) == 0);
  }
  CHECK(driver.cuMemPoolDestroy(pool) == 0);
}

TEST_CASE("memory pool: outlives its contexts, in a separate process") {
  CHECK(holds_alone("memory pool: outlives its contexts"));
}

TEST_CASE("tensor map: accepts and refuses tensors") {
  Own own;
  cu::Pointer memory = own.memory(1 << 16);
  static constexpr int f16 = 6, swizzle_128 = 3;
  std::uint64_t sizes[] = {64, 64}, strides[] = {128};
  std::uint32_t box[] = {64, 32}, steps[] = {1, 1};
  auto encode = [&](cu::Pointer address, int rank, int type = 6, int swizzle = 3, int fill = 0) {
    cu::TensorMapBytes map;
    return driver.cuTensorMapEncodeTiled(&map, type, std::uint32_t(rank),
                                         reinterpret_cast<void *>(address), sizes, strides, box,
                                         steps, 0, swizzle, 0, fill);
  };
  CHECK(encode(memory, 2) == 0);
  CHECK(encode(memory, 2, f16, 0) == 0);
  CHECK(encode(memory + 8, 2) == 1);
  CHECK(encode(0, 2) == 0);
  CHECK(encode(memory, 0) == 1);
  CHECK(encode(memory, 6) == 1);
  CHECK(encode(memory, 2, 99) == 1);
  CHECK(encode(memory, 2, f16, 9) == 1);
  CHECK(encode(memory, 2, f16, swizzle_128, 1) == 0);
  CHECK(encode(memory, 2, 2, swizzle_128, 1) == 1); // integers cannot be filled with NaN
  auto refused = [&](auto change) {
    change();
    int result = encode(memory, 2);
    sizes[0] = sizes[1] = 64;
    strides[0] = 128;
    box[0] = 64;
    box[1] = 32;
    steps[0] = steps[1] = 1;
    return result == 1;
  };
  CHECK(refused([&] { sizes[0] = 0; }));
  CHECK(refused([&] { sizes[1] = (std::uint64_t(1) << 32) + 1; }));
  CHECK(refused([&] { strides[0] = 120; }));
  CHECK(refused([&] { strides[0] = std::uint64_t(1) << 40; }));
  CHECK(refused([&] { box[0] = 0; }));
  CHECK(refused([&] { box[1] = 257; }));
  CHECK(refused([&] { box[0] = 128; })); // 256 bytes, more than the swizzle's 128
  CHECK(refused([&] { box[0] = 4; }));   // 8 bytes
  CHECK(refused([&] { steps[0] = 0; }));
  CHECK(refused([&] { steps[1] = 9; }));
  CHECK(encode(memory, 2) == 0);
}
