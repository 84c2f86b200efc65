// Tests runtime/src/driver.cpp: opening the driver, and what its failures become.

#include "runtime/machine.h"
#include "runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <cstdlib>
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
  for (Machine::Kind kind : {Machine::no_file, Machine::garbage}) {
    Machine machine(kind);
    SampleKernel sample;
    for (int i = 0; i < 2; i++) {
      status s = launch(machine, sample);
      CHECK(s.code() == status_code::no_driver);
      CHECK(std::string(s.kernel()) == "sample::copy");
    }
    device_info info;
    CHECK(machine.runtime().current_device(info).code() == status_code::no_driver);
  }
}

TEST_CASE("a driver from before CUDA 12 is too old, and says its version") {
  SampleKernel sample;
  SUBCASE("without cuGetProcAddress_v2") {
    Machine machine(Machine::old_driver); // whose cuInit ends the process
    status s = launch(machine, sample);
    CHECK(s.code() == status_code::driver_too_old);
    CHECK(machine.message(s).find("CUDA 11.8") != std::string::npos);
  }
  SUBCASE("by its version alone") {
    Machine machine(Machine::as_driver, "version=11080");
    status s = launch(machine, sample);
    CHECK(s.code() == status_code::driver_too_old);
    CHECK(machine.message(s).find("CUDA 11.8") != std::string::npos);
    CHECK(machine.driver().calls("cuInit") == 0);
  }
  SUBCASE("12.0 will do") {
    Machine machine(Machine::as_driver, "version=12000");
    CHECK(launch(machine, sample).ok());
  }
}

TEST_CASE("a library that is no driver is one that is too old") {
  Machine machine(Machine::other_library);
  SampleKernel sample;
  CHECK(launch(machine, sample).code() == status_code::driver_too_old);
}

TEST_CASE("a driver that lacks a required function is too old, and names it") {
  Machine machine(Machine::as_driver, "missing=cuLibraryLoadData");
  SampleKernel sample;
  status s = launch(machine, sample);
  CHECK(s.code() == status_code::driver_too_old);
  CHECK(machine.message(s).find("`cuLibraryLoadData`") != std::string::npos);
}

TEST_CASE("optional functions may be missing") {
  Machine machine(Machine::as_driver,
                  "missing=cuStreamIsCapturing,missing=cuThreadExchangeStreamCaptureMode,"
                  "missing=cuStreamGetDevice,missing=cuFuncLoad,missing=cuDeviceGetName,"
                  "missing=cuMemAlloc");
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
    Machine machine(Machine::as_driver, "devices=0");
    CHECK(launch(machine, sample).code() == status_code::no_device);
  }
  SUBCASE("by a count of zero") {
    Machine machine(Machine::as_driver, "fail=cuDeviceGetCount:*:0"); // succeeds and says nothing
    CHECK(launch(machine, sample).code() == status_code::no_device);
  }
}

TEST_CASE("a driver that is not ready is asked again") {
  Machine machine(Machine::as_driver, "fail=cuInit:1:802");
  SampleKernel sample;
  status s = launch(machine, sample);
  CHECK(s.code() == status_code::cuda);
  CHECK(s.cuda_result() == 802);
  CHECK(std::string(s.subject()) == "cuInit");
  CHECK(machine.message(s).find("CUDA_ERROR_SYSTEM_NOT_READY (802)") != std::string::npos);
  CHECK(launch(machine, sample).ok());
}

TEST_CASE("out of memory is passed on and does not last") {
  Machine machine(Machine::as_driver, "fail=cuLibraryLoadData:1:2");
  SampleKernel sample;
  CHECK(launch(machine, sample).code() == status_code::out_of_memory);
  CHECK(launch(machine, sample).ok());
}

TEST_CASE("of an assertion that failed it is said what it was, and where more is said") {
  Machine machine;
  SampleKernel sample;
  machine.driver().configure("fail=cuLaunchKernelEx:1:710");
  status s = launch(machine, sample);
  CHECK(s.code() == status_code::device_lost);
  CHECK(s.cuda_result() == 710);
  std::string message = machine.message(s);
  CHECK(message.find("sample::copy: an assertion in a kernel failed") == 0);
  CHECK(message.find("standard error") != std::string::npos);
  CHECK(message.find("CUDA_ERROR_ASSERT (710)") != std::string::npos);
  CHECK(message.find("restart the process") != std::string::npos);
  machine.driver().configure("fail=none,fail=cuLaunchKernelEx:*:719");
  s = launch(machine, sample); // the first cause stays
  CHECK(s.cuda_result() == 710);
  CHECK(machine.message(s) == message);
}

TEST_CASE("an error that no context survives is reported for what it was first") {
  Machine machine;
  SampleKernel sample;
  machine.driver().configure("fail=cuLaunchKernelEx:1:700");
  status s = launch(machine, sample);
  CHECK(s.code() == status_code::device_lost);
  CHECK(s.cuda_result() == 700);
  machine.driver().configure("fail=none,fail=cuLaunchKernelEx:*:719");
  s = launch(machine, sample);
  CHECK(s.code() == status_code::device_lost);
  CHECK(s.cuda_result() == 700);
  std::string message = machine.message(s);
  CHECK(message.find("CUDA_ERROR_ILLEGAL_ADDRESS (700)") != std::string::npos);
  CHECK(message.find("restart the process") != std::string::npos);
}

TEST_CASE("other errors of the driver are passed on with their call") {
  Machine machine(Machine::as_driver, "fail=cuLaunchKernelEx:*:1");
  SampleKernel sample;
  status s = launch(machine, sample);
  CHECK(s.code() == status_code::cuda);
  CHECK(s.cuda_result() == 1);
  CHECK(machine.message(s) ==
        "sample::copy: cuLaunchKernelEx failed: CUDA_ERROR_INVALID_VALUE (1) invalid argument");
}

TEST_CASE("code that the driver finds too new, or not fit for the device") {
  SampleKernel sample;
  SUBCASE("222") {
    Machine machine(Machine::as_driver, "fail=cuLibraryLoadData:*:222");
    CHECK(launch(machine, sample).code() == status_code::driver_too_old);
  }
  SUBCASE("209") {
    Machine machine(Machine::as_driver, "fail=cuLibraryGetKernel:*:209");
    CHECK(launch(machine, sample).code() == status_code::no_image_for_device);
    CHECK(machine.driver().calls("cuLibraryUnload") == 1);
    CHECK(machine.driver().counters().libraries == 0);
  }
}

TEST_CASE("the child of a fork is told, without a call of the driver that could hang") {
  Machine machine;
  SampleKernel sample, other;
  machine.driver().new_context();
  stream where = as_stream(machine.driver().new_stream());
  SampleArgs args = good_args();
  auto launch_on_stream = [&] {
    return machine.runtime().launch(sample.kernel, where, &args, nullptr, nullptr);
  };
  REQUIRE(launch(machine, sample).ok());
  REQUIRE(launch_on_stream().ok());
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int before = machine.driver().calls("cuLibraryLoadData");
    bool cold = launch(machine, other).code() == status_code::forked_child &&
                machine.driver().calls("cuLibraryLoadData") == before;
    bool warm = launch(machine, sample).code() == status_code::forked_child &&
                launch_on_stream().code() == status_code::forked_child;
    _exit(cold && warm ? 0 : 1);
  }
  int result = -1;
  REQUIRE(waitpid(child, &result, 0) == child);
  CHECK(result == 0);
  CHECK(launch(machine, sample).ok()); // the parent goes on
}

TEST_CASE("a driver that fails at the very beginning is too old") {
  SampleKernel sample;
  Machine machine(Machine::as_driver, "fail=cuDriverGetVersion:*:999");
  CHECK(launch(machine, sample).code() == status_code::driver_too_old);
}
