// Tests that the fake driver agrees with the driver: faults that ruin the device, and the results
// of all later calls. See agreement.h.

#include "unit/fake_driver/agreement/agreement.h"

#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/// Checks that every call that uses the device returns the fault.
void check_ruined(int fault, cu::Kernel *kernel, const Operands &operands, cu::Stream *stream,
                  cu::Event *event) {
  cu::Pointer memory = 0;
  int value = 0;
  void *host = nullptr;
  std::size_t bytes = 0;
  cu::Stream *other = nullptr;
  cu::Event *another = nullptr;
  cu::Context *context = nullptr;
  cu::Library *library = nullptr;
  cu::Module *module = nullptr;
  cu::Kernel *function = nullptr;
  float milliseconds = 0;
  for (int round = 0; round < 2; round++) {
    CHECK(driver.cuCtxSynchronize() == fault);
    CHECK(driver.cuStreamSynchronize(stream) == fault);
    CHECK(driver.cuStreamQuery(stream) == fault);
    CHECK(launch(kernel, operands) == fault);
    CHECK(driver.cuMemAlloc_v2(&memory, 16) == fault);
    CHECK(driver.cuMemFree_v2(operands.target) == fault);
    CHECK(driver.cuMemcpyDtoH_v2(&value, operands.target, 4) == fault);
    CHECK(driver.cuMemsetD8_v2(operands.target, 0, 4) == fault);
    CHECK(driver.cuMemsetD8Async(operands.target, 0, 4, stream) == fault);
    CHECK(driver.cuMemAllocHost_v2(&host, 16) == fault);
    CHECK(driver.cuMemGetInfo_v2(&bytes, &bytes) == fault);
    CHECK(driver.cuStreamCreate(&other, 0) == fault);
    CHECK(driver.cuEventCreate(&another, 0) == fault);
    CHECK(driver.cuEventRecord(event, stream) == fault);
    CHECK(driver.cuEventQuery(event) == fault);
    CHECK(driver.cuEventSynchronize(event) == fault);
    CHECK(driver.cuEventElapsedTime(&milliseconds, event, event) == fault);
    CHECK(driver.cuStreamWaitEvent(stream, event, 0) == fault);
    CHECK(driver.cuStreamBeginCapture_v2(stream, 0) == fault);
    CHECK(driver.cuModuleLoadData(&module, code_of("add")) == fault);
    CHECK(driver.cuKernelGetFunction(&function, kernel) == fault);
    CHECK(driver.cuStreamGetCtx(stream, &context) == fault);
    CHECK(driver.cuCtxCreate_v2(&context, 0, 0) == fault);
  }
  // Calls that do not use the device still succeed.
  CHECK(driver.cuCtxGetCurrent(&context) == 0);
  CHECK(driver.cuCtxGetDevice(&value) == 0);
  CHECK(driver.cuDeviceGetCount(&value) == 0);
  CHECK(driver.cuKernelGetAttribute(&value, 0, kernel, 0) == 0);
  CHECK(driver.cuKernelSetAttribute(8, 60000, kernel, 0) == 0);
  CHECK(driver.cuPointerGetAttribute(&value, 9, operands.target) == 0);
  CHECK(driver.cuLibraryLoadData(&library, code_of("add"), nullptr, nullptr, 0, nullptr, nullptr,
                                 0) == 0);
  CHECK(driver.cuLibraryUnload(library) == 0);
  CHECK(driver.cuEventDestroy_v2(event) == fault);
  CHECK(driver.cuStreamDestroy_v2(stream) == fault);
}

void ruin(int fault, std::size_t offset) {
  REQUIRE(driver.cuInit(0) == 0);
  cu::Context *context = nullptr;
  REQUIRE(driver.cuDevicePrimaryCtxRetain(&context, 0) == 0);
  REQUIRE(driver.cuCtxSetCurrent(context) == 0);
  cu::Kernel *kernel = get_kernel();
  cu::Stream *stream = nullptr;
  Operands operands = {0, 0};
  cu::Event *event = nullptr;
  REQUIRE(driver.cuStreamCreate(&stream, 0) == 0);
  REQUIRE(driver.cuEventCreate(&event, 0) == 0);
  REQUIRE(driver.cuMemAlloc_v2(&operands.source, 4096) == 0);
  REQUIRE(driver.cuMemAlloc_v2(&operands.target, 4096) == 0);
  REQUIRE(driver.cuMemsetD8_v2(operands.source, 0, 4096) == 0);
  REQUIRE(driver.cuCtxSynchronize() == 0);
  Operands wrong = operands;
  wrong.source = offset < 4096 ? operands.source + offset : offset;
  CHECK(launch(kernel, wrong) == 0); // later calls return the fault
  CHECK(driver.cuCtxSynchronize() == fault);
  check_ruined(fault, kernel, operands, stream, event);
  CHECK(driver.cuCtxSetCurrent(nullptr) == 0);
  CHECK(driver.cuDevicePrimaryCtxReset_v2(0) == 0);
  int again = driver.cuDevicePrimaryCtxRetain(&context, 0);
  std::printf("retained after %d: %d\n", fault, again);
  CHECK(again != 0);
}

} // namespace

TEST_CASE("fault: invalid address ruins the device" * doctest::skip()) { ruin(700, 1 << 20); }
TEST_CASE("fault: misaligned address ruins the device" * doctest::skip()) { ruin(716, 2); }

TEST_CASE("fork: the child cannot use the driver" * doctest::skip()) {
  Own own;
  cu::Kernel *kernel = get_kernel();
  Operands operands = {own.memory(256), own.memory(256)};
  cu::Stream *stream = own.stream();
  REQUIRE(launch(kernel, operands, stream) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int count = 0;
    cu::Pointer memory = 0;
    cu::Device device = 0;
    bool refused = launch(kernel, operands, stream) == 3 && launch(kernel, operands) == 3 &&
                   driver.cuCtxGetDevice(&device) == 3 && driver.cuMemAlloc_v2(&memory, 16) == 3 &&
                   driver.cuDeviceGetCount(&count) == 3 && driver.cuInit(0) == 3;
    _exit(refused ? 0 : 1);
  }
  int state = -1;
  REQUIRE(waitpid(child, &state, 0) == child);
  CHECK(state == 0);
  own.memory(16);
}

TEST_CASE("fault: all cases, each in a separate process") {
  CHECK(holds_alone("fault: invalid address ruins the device"));
  CHECK(holds_alone("fault: misaligned address ruins the device"));
  CHECK(holds_alone("fork: the child cannot use the driver"));
}
