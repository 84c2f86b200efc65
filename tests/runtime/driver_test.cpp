// Tests runtime/src/driver.cpp: opening the driver, and what its failures become.

#include "runtime/machine.h"
#include "runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

using namespace tritonc;

namespace {

status launch(Machine &machine, const SampleKernel &sample) {
  SampleArgs args = good_args();
  return machine.runtime().launch(sample.kernel, {}, &args, nullptr, nullptr);
}

} // namespace

TEST_CASE("without a driver a launch says so, each time") {
  Machine machine(Machine::without_driver);
  SampleKernel sample;
  for (int i = 0; i < 2; i++) {
    status s = launch(machine, sample);
    CHECK(s.code() == status_code::no_driver);
    CHECK(std::string(s.kernel()) == "sample::copy");
  }
  device_info info;
  CHECK(machine.runtime().current_device(info).code() == status_code::no_driver);
}

TEST_CASE("a driver from before CUDA 12 is too old, and says its version") {
  Machine machine(Machine::with_old_driver);
  machine.driver().version = 11080;
  SampleKernel sample;
  status s = launch(machine, sample);
  CHECK(s.code() == status_code::driver_too_old);
  CHECK(machine.message(s).find("CUDA 11.8") != std::string::npos);
  CHECK(machine.driver().calls["cuInit"] == 0);
}

TEST_CASE("a driver that lacks a required function is too old, and names it") {
  Machine machine;
  machine.driver().missing = {"cuLibraryLoadData"};
  SampleKernel sample;
  status s = launch(machine, sample);
  CHECK(s.code() == status_code::driver_too_old);
  CHECK(machine.message(s).find("`cuLibraryLoadData`") != std::string::npos);
}

TEST_CASE("optional functions may be missing") {
  Machine machine;
  machine.driver().missing = {"cuStreamIsCapturing", "cuThreadExchangeStreamCaptureMode",
                              "cuStreamGetDevice",   "cuFuncLoad",
                              "cuDeviceGetName",     "cuMemAlloc"};
  SampleKernel sample;
  CHECK(launch(machine, sample).ok());
  void *memory = nullptr;
  status s = machine.runtime().allocate(&memory, 16);
  CHECK(s.code() == status_code::driver_too_old);
  CHECK(std::string(s.subject()) == "cuMemAlloc");
}

TEST_CASE("no device, as the driver says it") {
  SampleKernel sample;
  SUBCASE("by an error") {
    Machine machine;
    machine.driver().fails["cuInit"] = 100;
    CHECK(launch(machine, sample).code() == status_code::no_device);
  }
  SUBCASE("by a count of zero") {
    Machine machine;
    machine.driver().devices.clear();
    CHECK(launch(machine, sample).code() == status_code::no_device);
  }
}

TEST_CASE("a driver that is not ready is asked again") {
  Machine machine;
  machine.driver().fails_once["cuInit"] = 802;
  SampleKernel sample;
  status s = launch(machine, sample);
  CHECK(s.code() == status_code::cuda);
  CHECK(s.cuda_result() == 802);
  CHECK(std::string(s.subject()) == "cuInit");
  CHECK(launch(machine, sample).ok());
}

TEST_CASE("out of memory is passed on and does not last") {
  Machine machine;
  SampleKernel sample;
  machine.driver().fails_once["cuLibraryLoadData"] = 2;
  CHECK(launch(machine, sample).code() == status_code::out_of_memory);
  CHECK(launch(machine, sample).ok());
}

TEST_CASE("an error that no context survives is reported for what it was first") {
  Machine machine;
  SampleKernel sample;
  machine.driver().fails["cuLaunchKernelEx"] = 700;
  status s = launch(machine, sample);
  CHECK(s.code() == status_code::device_lost);
  CHECK(s.cuda_result() == 700);
  machine.driver().fails["cuLaunchKernelEx"] = 719;
  s = launch(machine, sample);
  CHECK(s.code() == status_code::device_lost);
  CHECK(s.cuda_result() == 700);
  std::string message = machine.message(s);
  CHECK(message.find("CUDA_ERROR_ILLEGAL_ADDRESS (700)") != std::string::npos);
  CHECK(message.find("restart the process") != std::string::npos);
}

TEST_CASE("other errors of the driver are passed on with their call") {
  Machine machine;
  SampleKernel sample;
  machine.driver().fails["cuLaunchKernelEx"] = 1;
  status s = launch(machine, sample);
  CHECK(s.code() == status_code::cuda);
  CHECK(s.cuda_result() == 1);
  CHECK(machine.message(s) ==
        "sample::copy: cuLaunchKernelEx failed: CUDA_ERROR_SOMETHING (1) a text of the driver");
}

TEST_CASE("code that the driver finds too new, or not fit for the device") {
  SampleKernel sample;
  SUBCASE("222") {
    Machine machine;
    machine.driver().fails["cuLibraryLoadData"] = 222;
    CHECK(launch(machine, sample).code() == status_code::driver_too_old);
  }
  SUBCASE("209") {
    Machine machine;
    machine.driver().fails["cuLibraryGetKernel"] = 209;
    CHECK(launch(machine, sample).code() == status_code::no_image_for_device);
    CHECK(machine.driver().calls["cuLibraryUnload"] == 1);
  }
}

TEST_CASE("the child of a fork is told, without a call of the driver that could hang") {
  Machine machine;
  SampleKernel sample, other;
  REQUIRE(launch(machine, sample).ok());
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int before = machine.driver().calls["cuLibraryLoadData"];
    bool cold = launch(machine, other).code() == status_code::forked_child &&
                machine.driver().calls["cuLibraryLoadData"] == before;
    machine.driver().fails["cuLaunchKernelEx"] = 3;
    bool warm = launch(machine, sample).code() == status_code::forked_child;
    _exit(cold && warm ? 0 : 1);
  }
  int result = -1;
  REQUIRE(waitpid(child, &result, 0) == child);
  CHECK(result == 0);
}
