// Tests runtime/src/load/open_driver.cpp: opening the driver, and the statuses of its failures.

#include "unit/runtime/machine.h"
#include "unit/runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tritonc;

namespace {

status launch(Machine &machine, const SampleKernel &sample) {
  SampleArgs args = good_args();
  return machine.runtime().launch(sample.kernel, {}, &args, nullptr, nullptr);
}

} // namespace

TEST_CASE("open_driver: missing library returns no_driver each time") {
  for (Machine::Kind kind : {Machine::no_file, Machine::garbage}) {
    Machine machine(kind);
    SampleKernel sample;
    for (int i = 0; i < 2; i++) {
      status s = launch(machine, sample);
      CHECK(s.code() == status_code::no_driver);
      CHECK(std::string(s.kernel()) == "sample::copy");
      CHECK(std::string(s.argument()) == std::getenv("TRITONC_DRIVER"));
      CHECK(machine.message(s).find("cannot open `" + std::string(s.argument()) +
                                    "`, which TRITONC_DRIVER names") != std::string::npos);
    }
    device_info info;
    CHECK(machine.runtime().current_device(info).code() == status_code::no_driver);
  }
}

TEST_CASE("open_driver: an empty TRITONC_DRIVER names no library") {
  // The result depends on the machine: it may have a driver.
  auto outcome = [](const char *library) {
    Machine machine(Machine::no_file);
    if (library)
      setenv("TRITONC_DRIVER", library, 1);
    else
      unsetenv("TRITONC_DRIVER");
    device_info info;
    return machine.message(machine.runtime().current_device(info));
  };
  CHECK(outcome("") == outcome(nullptr));
  CHECK(outcome("/nowhere/libcuda.so") != outcome(nullptr));
}

TEST_CASE("open_driver: driver before CUDA 12 is too old") {
  SampleKernel sample;
  SUBCASE("without cuGetProcAddress_v2") {
    Machine machine(Machine::old_driver); // its cuInit traps
    status s = launch(machine, sample);
    CHECK(s.code() == status_code::driver_too_old);
    CHECK(machine.message(s).find("CUDA 11.8") != std::string::npos);
  }
  SUBCASE("without cuGetProcAddress_v2, but with a new version") {
    Machine machine(Machine::old_driver);
    void *library = dlopen(std::getenv("TRITONC_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library);
    *static_cast<int *>(dlsym(library, "old_driver_version")) = 12080;
    status s = launch(machine, sample);
    CHECK(s.code() == status_code::driver_too_old);
    CHECK(machine.message(s).find("(CUDA 12.8) does not support `cuGetProcAddress_v2`") !=
          std::string::npos);
  }
  SUBCASE("version 11.8") {
    Machine machine(Machine::as_driver, "version=11080");
    status s = launch(machine, sample);
    CHECK(s.code() == status_code::driver_too_old);
    CHECK(machine.message(s).find("CUDA 11.8") != std::string::npos);
    CHECK(machine.driver().calls("cuInit") == 0);
  }
  SUBCASE("version 12.0 is accepted") {
    Machine machine(Machine::as_driver, "version=12000");
    CHECK(launch(machine, sample).ok());
  }
}

TEST_CASE("open_driver: a library that is no driver returns no_driver") {
  Machine machine(Machine::other_library);
  SampleKernel sample;
  status s = launch(machine, sample);
  CHECK(s.code() == status_code::no_driver);
  CHECK(machine.message(s).find("there is no CUDA driver in `" + std::string(s.argument())) !=
        std::string::npos);
}

TEST_CASE("open_driver: names a missing required function") {
  Machine machine(Machine::as_driver, "missing=cuLibraryLoadData");
  SampleKernel sample;
  status s = launch(machine, sample);
  CHECK(s.code() == status_code::driver_too_old);
  CHECK(machine.message(s).find("`cuLibraryLoadData`") != std::string::npos);
}

TEST_CASE("open_driver: optional functions may be missing") {
  Machine machine(Machine::as_driver,
                  "missing=cuStreamIsCapturing,missing=cuThreadExchangeStreamCaptureMode,"
                  "missing=cuStreamGetDevice,missing=cuFuncLoad,missing=cuDeviceGetName,"
                  "missing=cuMemAlloc");
  SampleKernel sample;
  CHECK(launch(machine, sample).ok());
  void *memory = nullptr;
  status s = machine.runtime().allocate(&memory, 16);
  CHECK(s.code() == status_code::driver_too_old);
  CHECK(std::string(s.argument()) == "cuMemAlloc");
}

TEST_CASE("open_driver: no device returns no_device") {
  SampleKernel sample;
  SUBCASE("error of the driver") {
    Machine machine(Machine::as_driver, "devices=0");
    CHECK(launch(machine, sample).code() == status_code::no_device);
  }
  SUBCASE("count of zero") {
    Machine machine(Machine::as_driver, "fail=cuDeviceGetCount:*:0"); // succeeds, sets no count
    CHECK(launch(machine, sample).code() == status_code::no_device);
  }
}

TEST_CASE("open_driver: retries a driver that is not ready") {
  Machine machine(Machine::as_driver, "fail=cuInit:1:802");
  SampleKernel sample;
  status s = launch(machine, sample);
  CHECK(s.code() == status_code::cuda);
  CHECK(s.cuda_result() == 802);
  CHECK(std::string(s.argument()) == "cuInit");
  CHECK(machine.message(s).find("CUDA_ERROR_SYSTEM_NOT_READY (802)") != std::string::npos);
  CHECK(launch(machine, sample).ok());
}

TEST_CASE("failure: out of memory does not last") {
  Machine machine(Machine::as_driver, "fail=cuLibraryLoadData:1:2");
  SampleKernel sample;
  CHECK(launch(machine, sample).code() == status_code::out_of_memory);
  CHECK(launch(machine, sample).ok());
}

TEST_CASE("failure: a failed assertion refers to standard error") {
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
  s = launch(machine, sample); // still returns the first cause
  CHECK(s.cuda_result() == 710);
  CHECK(machine.message(s) == message);
}

TEST_CASE("failure: a sticky error keeps its first cause") {
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

TEST_CASE("failure: other errors name the driver function") {
  Machine machine(Machine::as_driver, "fail=cuLaunchKernelEx:*:1");
  SampleKernel sample;
  status s = launch(machine, sample);
  CHECK(s.code() == status_code::cuda);
  CHECK(s.cuda_result() == 1);
  CHECK(machine.message(s) ==
        "sample::copy: cuLaunchKernelEx failed: CUDA_ERROR_INVALID_VALUE (1) invalid argument");
}

TEST_CASE("failure: unsupported code has its own status") {
  SampleKernel sample;
  SUBCASE("code is too new (222)") {
    Machine machine(Machine::as_driver, "fail=cuLibraryLoadData:*:222");
    CHECK(launch(machine, sample).code() == status_code::driver_too_old);
  }
  SUBCASE("code does not fit the device (209)") {
    Machine machine(Machine::as_driver, "fail=cuLibraryGetKernel:*:209");
    CHECK(launch(machine, sample).code() == status_code::no_image_for_device);
    CHECK(machine.driver().calls("cuLibraryUnload") == 1);
    CHECK(machine.driver().counters().libraries == 0);
  }
}

TEST_CASE("launch: a forked child returns forked_child") {
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
  CHECK(launch(machine, sample).ok()); // the parent can still launch
}

TEST_CASE("open_driver: failed cuDriverGetVersion is too old") {
  SampleKernel sample;
  Machine machine(Machine::as_driver, "fail=cuDriverGetVersion:*:999");
  CHECK(launch(machine, sample).code() == status_code::driver_too_old);
}
