// Tests that the fake driver agrees with the driver: the process, devices, contexts, code. See
// agreement.h.

#include "unit/fake_driver/agreement/agreement.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

TEST_CASE("cuInit: calls before it are refused" * doctest::skip()) {
  int value = 0;
  cu::Context *context = nullptr;
  CHECK(driver.cuDriverGetVersion(&value) == 0);
  CHECK(value >= 12000);
  CHECK(driver.cuDeviceGetCount(&value) == 3);
  CHECK(driver.cuCtxGetCurrent(&context) == 3);
  CHECK(driver.cuInit(1) == 1);
  CHECK(driver.cuInit(0) == 0);
  CHECK(driver.cuInit(0) == 0);
  CHECK(driver.cuDeviceGetCount(&value) == 0);
  CHECK(value >= 1);
}

TEST_CASE("cuInit: checks in a separate process") {
  CHECK(holds_alone("cuInit: calls before it are refused"));
}

TEST_CASE("cuGetProcAddress: finds functions by interface version") {
  REQUIRE(driver.cuInit(0) == 0);
  void *address = &address;
  int found = -1, version = 0;
  REQUIRE(driver.cuDriverGetVersion(&version) == 0);
  CHECK(driver.cuGetProcAddress_v2("cuSwimBackwards", &address, 12000, 0, &found) == 0);
  CHECK(found == 1);
  CHECK(address == nullptr);
  CHECK(driver.cuGetProcAddress_v2("cuLibraryLoadData", &address, 11000, 0, &found) == 0);
  CHECK(found == 2);
  CHECK(address == nullptr);
  CHECK(driver.cuGetProcAddress_v2("cuMemAlloc", &address, 12000, 0, &found) == 0);
  CHECK(found == 0);
  CHECK(address != nullptr);
  CHECK(driver.cuGetProcAddress_v2("cuMemAlloc", &address, version + 1000, 0, &found) == 1);
  CHECK(driver.cuGetProcAddress("cuSwimBackwards", &address, 12000, 0) == 500);
  CHECK(driver.cuGetProcAddress("cuMemAlloc", &address, 12000, 0) == 0);
}

TEST_CASE("cuGetErrorName: names every error") {
  const char *name = nullptr, *text = nullptr;
  for (int result :
       {0,   1,   2,   3,   4,   100, 101, 200, 201, 209, 222, 400, 401, 500, 600, 700, 702, 709,
        710, 716, 719, 720, 800, 801, 900, 901, 902, 903, 904, 905, 906, 907, 908, 912, 999}) {
    CHECK(driver.cuGetErrorName(result, &name) == 0);
    CHECK(driver.cuGetErrorString(result, &text) == 0);
    std::printf("%d %s: %s\n", result, name, text);
  }
  CHECK(driver.cuGetErrorName(12345, &name) == 1);
  CHECK(name == nullptr);
  CHECK(driver.cuGetErrorName(700, &name) == 0);
  CHECK(std::string(name) == "CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK(driver.cuGetErrorString(700, &text) == 0);
  CHECK(std::string(text) == "an illegal memory access was encountered");
}

TEST_CASE("cuDeviceGet: describes devices") {
  REQUIRE(driver.cuInit(0) == 0);
  int value = 0;
  cu::Device device = -1;
  CHECK(driver.cuDeviceGet(&device, 0) == 0);
  CHECK(device == 0);
  CHECK(driver.cuDeviceGet(&device, -1) == 101);
  CHECK(driver.cuDeviceGet(&device, 1000) == 101);
  CHECK(driver.cuDeviceGet(nullptr, 0) == 1);
  CHECK(driver.cuDeviceGetAttribute(&value, 10, 0) == 0);
  CHECK(value == 32);
  CHECK(driver.cuDeviceGetAttribute(&value, 10, 1000) == 101);
  CHECK(driver.cuDeviceGetAttribute(&value, 100000, 0) == 1);
  CHECK(driver.cuDeviceGetAttribute(&value, 0, 0) == 1);
  // The attributes of an H100 or H200 that launches depend on.
  struct {
    int attribute, value;
  } facts[] = {{1, 1024},   {2, 1024},    {4, 64},     {5, 0x7fffffff}, {6, 65535},   {7, 65535},
               {8, 49152},  {12, 65536},  {16, 132},   {39, 2048},      {41, 1},      {75, 9},
               {76, 0},     {81, 233472}, {82, 65536}, {95, 1},         {97, 232448}, {106, 32},
               {111, 1024}, {115, 1},     {120, 1},    {127, 1}};
  for (auto &fact : facts) {
    CAPTURE(fact.attribute);
    CHECK(driver.cuDeviceGetAttribute(&value, fact.attribute, 0) == 0);
    CHECK(value == fact.value);
  }
  char name[64] = "";
  CHECK(driver.cuDeviceGetName(name, sizeof name, 0) == 0);
  CHECK(name[0] != 0);
  CHECK(driver.cuDeviceGetName(name, 4, 0) == 0);
  CHECK(std::strlen(name) == 3);
  std::size_t bytes = 0;
  CHECK(driver.cuDeviceTotalMem_v2(&bytes, 0) == 0);
  CHECK(bytes > 0);
  char bus[64] = "";
  CHECK(driver.cuDeviceGetPCIBusId(bus, sizeof bus, 0) == 0);
  CHECK(driver.cuDeviceGetByPCIBusId(&device, bus) == 0);
  CHECK(device == 0);
}

TEST_CASE("context: calls fail, when none is current") {
  REQUIRE(driver.cuInit(0) == 0);
  std::thread([] {
    cu::Context *context = nullptr;
    cu::Device device = 0;
    cu::Pointer memory = 0;
    cu::Stream *stream = nullptr;
    CHECK(driver.cuCtxGetCurrent(&context) == 0);
    CHECK(context == nullptr);
    CHECK(driver.cuCtxGetDevice(&device) == 201);
    CHECK(driver.cuCtxPopCurrent_v2(&context) == 201);
    CHECK(driver.cuCtxSynchronize() == 201);
    CHECK(driver.cuMemAlloc_v2(&memory, 16) == 201);
    CHECK(driver.cuStreamCreate(&stream, 0) == 201);
    CHECK(driver.cuStreamSynchronize(nullptr) == 201);
    CHECK(launch(get_kernel(), {0, 0}) == 201);
    CHECK(driver.cuCtxSetCurrent(nullptr) == 0);
  }).join();
}

TEST_CASE("context: retain, push, pop and destroy") {
  REQUIRE(driver.cuInit(0) == 0);
  cu::Context *primary = nullptr, *current = nullptr;
  unsigned flags = 0;
  int active = -1;
  CHECK(driver.cuDevicePrimaryCtxGetState(0, &flags, &active) == 0);
  CHECK(active == 0);
  CHECK(driver.cuDevicePrimaryCtxRetain(&primary, 0) == 0);
  CHECK(driver.cuDevicePrimaryCtxRetain(&current, 0) == 0);
  CHECK(current == primary);
  CHECK(driver.cuDevicePrimaryCtxGetState(0, &flags, &active) == 0);
  CHECK(active == 1);
  CHECK(driver.cuDevicePrimaryCtxRelease_v2(0) == 0);
  CHECK(driver.cuDevicePrimaryCtxRetain(&current, 1000) == 101);
  {
    Own own;
    CHECK(driver.cuCtxGetCurrent(&current) == 0);
    CHECK(current == own.context);
    CHECK(driver.cuCtxPushCurrent_v2(primary) == 0);
    CHECK(driver.cuCtxGetCurrent(&current) == 0);
    CHECK(current == primary);
    CHECK(driver.cuCtxPopCurrent_v2(&current) == 0);
    CHECK(current == primary);
    unsigned long long first = 0, second = 0;
    CHECK(driver.cuCtxGetId(own.context, &first) == 0);
    CHECK(driver.cuCtxGetId(primary, &second) == 0);
    CHECK(first != second);
    CHECK(driver.cuCtxDestroy_v2(primary) != 0);
  }
  CHECK(driver.cuCtxGetCurrent(&current) == 0);
  CHECK(current == nullptr);
  CHECK(driver.cuDevicePrimaryCtxRelease_v2(0) == 0);
  CHECK(driver.cuDevicePrimaryCtxRelease_v2(0) == 201);
  CHECK(driver.cuCtxDestroy_v2(nullptr) == 1);
}

TEST_CASE("library: loads code and describes kernels") {
  Own own;
  cu::Library *library = load("add");
  cu::Kernel *kernel = nullptr, *function = nullptr;
  CHECK(driver.cuLibraryGetKernel(&kernel, library, "swim") == 500);
  CHECK(driver.cuLibraryGetKernel(&kernel, library, "add") == 0);
  CHECK(driver.cuKernelGetFunction(&function, kernel) == 0);
  int value = -1;
  CHECK(driver.cuKernelGetAttribute(&value, 0, kernel, 0) == 0);
  CHECK(value == 64);
  CHECK(driver.cuKernelGetAttribute(&value, 8, kernel, 0) == 0);
  CHECK(value == 49152);
  CHECK(driver.cuFuncGetAttribute(&value, 0, function) == 0);
  CHECK(value == 64);
  CHECK(driver.cuFuncGetAttribute(&value, 1, function) == 0);
  CHECK(value == 0);
  CHECK(driver.cuFuncGetAttribute(&value, 11, function) == 0);
  CHECK(value == 0);
  CHECK(driver.cuKernelGetAttribute(&value, 1000, kernel, 0) == 1);
  CHECK(driver.cuKernelGetAttribute(&value, 0, kernel, 1000) == 101);
  CHECK(driver.cuKernelSetAttribute(8, 232448, kernel, 0) == 0);
  CHECK(driver.cuKernelSetAttribute(8, 232449, kernel, 0) == 1);
  CHECK(driver.cuKernelSetAttribute(8, -1, kernel, 0) == 1);
  CHECK(driver.cuKernelSetAttribute(0, 1, kernel, 0) == 1);
  CHECK(driver.cuKernelGetAttribute(&value, 8, kernel, 0) == 0);
  CHECK(value == 232448);
  std::size_t offset = 0, bytes = 0;
  if (driver.cuKernelGetParamInfo) {
    CHECK(driver.cuKernelGetParamInfo(kernel, 2, &offset, &bytes) == 0);
    CHECK(offset == 16);
    CHECK(bytes == 4);
    CHECK(driver.cuKernelGetParamInfo(kernel, 3, &offset, &bytes) == 1);
  }
  cu::Pointer global = 0;
  CHECK(driver.cuLibraryGetGlobal(&global, &bytes, library, "swim") == 500);
  CHECK(driver.cuLibraryUnload(library) == 0);
  CHECK(driver.cuLibraryLoadData(nullptr, code_of("add"), nullptr, nullptr, 0, nullptr, nullptr,
                                 0) == 1);
  CHECK(driver.cuLibraryLoadData(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0) == 1);

  cu::Module *module = nullptr;
  CHECK(driver.cuModuleLoadData(&module, code_of("add")) == 0);
  CHECK(driver.cuModuleGetFunction(&function, module, "swim") == 500);
  CHECK(driver.cuModuleGetFunction(&function, module, "add") == 0);
  CHECK(driver.cuModuleGetGlobal_v2(&global, &bytes, module, "swim") == 500);
  CHECK(driver.cuModuleUnload(module) == 0);
  cu::Kernel *pairs = get_kernel("add_in_pairs");
  CHECK(driver.cuKernelGetAttribute(&value, 11, pairs, 0) == 0);
  CHECK(value == 2);
  CHECK(driver.cuKernelGetAttribute(&value, 12, pairs, 0) == 0);
  CHECK(value == 1);
  CHECK(driver.cuKernelSetAttribute(11, 4, pairs, 0) == 1); // fixed at compile time
}

TEST_CASE("library: refuses invalid code") {
  Own own;
  cu::Library *library = nullptr;
  cu::Module *module = nullptr;
  static const char text[] = "swim backwards and nothing else";
  int result = driver.cuLibraryLoadData(&library, text, nullptr, nullptr, 0, nullptr, nullptr, 0);
  CHECK(result == (is_real ? 0 : 200)); // the driver checks the code later
  CHECK(driver.cuModuleLoadData(&module, text) == 200);
  static const char elf[256] = "\177ELF\2\1\1";
  CHECK(driver.cuModuleLoadData(&module, elf) == 200);
  result = driver.cuLibraryLoadData(&library, elf, nullptr, nullptr, 0, nullptr, nullptr, 0);
  CHECK(result == (is_real ? 0 : 200));
}

TEST_CASE("context: a reset primary context returns, when retained") {
  REQUIRE(driver.cuInit(0) == 0);
  cu::Context *primary = nullptr, *again = nullptr, *popped = nullptr;
  cu::Kernel *kernel = get_kernel();
  cu::Device device = -1;
  unsigned flags = 0;
  int active = -1;
  unsigned long long before = 0, after = 0;
  Shape large;
  large.shared_bytes = 100000;
  auto launch_in = [&](cu::Context *context) {
    REQUIRE(driver.cuCtxPushCurrent_v2(context) == 0);
    CHECK(driver.cuCtxGetDevice(&device) == 0);
    int result = launch(kernel, {0, 0}, nullptr, large);
    REQUIRE(driver.cuCtxPopCurrent_v2(&popped) == 0);
    return result;
  };
  REQUIRE(driver.cuKernelSetAttribute(8, 100000, kernel, 0) == 0);
  REQUIRE(driver.cuDevicePrimaryCtxRetain(&primary, 0) == 0);
  CHECK(driver.cuCtxGetId(primary, &before) == 0);
  CHECK(driver.cuDevicePrimaryCtxReset_v2(0) == 0);
  CHECK(driver.cuDevicePrimaryCtxGetState(0, &flags, &active) == 0);
  CHECK(active == 0);
  CHECK(driver.cuCtxGetId(primary, &after) == 709);
  CHECK(launch_in(primary) == 709);
  // The context returns with its old handle, and kernels keep their attributes.
  CHECK(driver.cuDevicePrimaryCtxRetain(&again, 0) == 0);
  CHECK(again == primary);
  CHECK(driver.cuDevicePrimaryCtxGetState(0, &flags, &active) == 0);
  CHECK(active == 1);
  CHECK(driver.cuCtxGetId(primary, &after) == 0);
  CHECK(after != before);
  cu::Pointer memory = 0;
  REQUIRE(driver.cuCtxPushCurrent_v2(primary) == 0);
  REQUIRE(driver.cuMemAlloc_v2(&memory, 256) == 0);
  REQUIRE(driver.cuMemsetD8_v2(memory, 0, 256) == 0);
  CHECK(launch(kernel, {memory, memory}, nullptr, large) == 0);
  CHECK(driver.cuCtxSynchronize() == 0);
  REQUIRE(driver.cuCtxPopCurrent_v2(&popped) == 0);
  CHECK(driver.cuDevicePrimaryCtxRelease_v2(0) == 0);
  CHECK(driver.cuDevicePrimaryCtxGetState(0, &flags, &active) == 0);
  CHECK(active == 1);
  CHECK(driver.cuDevicePrimaryCtxRelease_v2(0) == 0);
  CHECK(driver.cuDevicePrimaryCtxGetState(0, &flags, &active) == 0);
  CHECK(active == 0);
  CHECK(launch_in(primary) == 709);
  CHECK(driver.cuDevicePrimaryCtxRelease_v2(0) == 201);
}

TEST_CASE("interface: functions of CUDA 12.5 and 13") {
  Own first;
  cu::Stream *stream = first.stream();
  Own second;
  cu::Context *context = nullptr;
  void *green = &green;
  cu::Device device = -1;
  if (driver.cuStreamGetCtx_v2) {
    CHECK(driver.cuStreamGetCtx_v2(stream, &context, &green) == 0);
    CHECK(context == first.context);
    CHECK(green == nullptr);
  }
  if (driver.cuCtxGetDevice_v2) {
    CHECK(driver.cuCtxGetDevice_v2(&device, first.context) == 0);
    CHECK(device == 0);
    CHECK(driver.cuCtxGetDevice_v2(&device, nullptr) == 0);
  }
  if (driver.cuCtxSynchronize_v2) {
    CHECK(driver.cuCtxSynchronize_v2(first.context) == 0);
    CHECK(driver.cuCtxSynchronize_v2(nullptr) == 0);
  }
}

TEST_CASE("context: calls fail, when another thread destroys it") {
  Own own;
  cu::Pointer memory = own.memory(16);
  int alloc = -1, device = -1, get = -1, push = -1, set = -1, synchronize = -1;
  std::atomic<int> step{0};
  std::thread other([&] {
    cu::Context *current = nullptr;
    driver.cuCtxSetCurrent(own.context);
    step = 1;
    while (step != 2)
      std::this_thread::yield();
    get = driver.cuCtxGetCurrent(&current);
    cu::Device ordinal = 0;
    device = driver.cuCtxGetDevice(&ordinal);
    alloc = driver.cuMemAlloc_v2(&memory, 16);
    synchronize = driver.cuCtxSynchronize();
    set = driver.cuCtxSetCurrent(own.context);
    push = driver.cuCtxPushCurrent_v2(own.context);
  });
  while (step != 1)
    std::this_thread::yield();
  CHECK(driver.cuCtxDestroy_v2(own.context) == 0);
  step = 2;
  other.join();
  own.context = nullptr;
  CHECK(get == 0);
  CHECK(device == 0);
  CHECK(alloc == 709);
  CHECK(synchronize == 709);
  CHECK(set == 0);
  CHECK(push == 0);
}
