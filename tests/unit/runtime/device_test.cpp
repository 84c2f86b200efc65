// Tests runtime/src/api/device.cpp and tritonc/device.hpp: device memory and timing.

#include "unit/runtime/machine.h"

#include <doctest/doctest.h>

#include <cstring>

using namespace tritonc;

TEST_CASE("current_device: describes the emulator") {
  Machine machine(Machine::emulator, "gpu=90a");
  device_info info;
  REQUIRE(machine.runtime().current_device(info).ok());
  CHECK(std::string(info.name) == "TritonC emulator (sm_90a)");
  CHECK(info.emulated);
  CHECK(info.major == 9);
  CHECK(info.minor == 0);
  CHECK(info.num_sms == 132);
  CHECK(machine.driver().current() == machine.driver().primary()); // stays current
}

TEST_CASE("current_device: a driver's device is not emulated") {
  Machine machine;
  device_info info;
  REQUIRE(machine.runtime().current_device(info).ok());
  CHECK_FALSE(info.emulated);
}

TEST_CASE("device memory: copies both ways, fills, releases") {
  Machine machine;
  const RuntimeFunctions &run = machine.runtime();
  void *memory = nullptr;
  REQUIRE(run.allocate(&memory, 4).ok());
  REQUIRE(run.copy_to_device(memory, "abc", 4).ok());
  REQUIRE(run.fill(memory, 'x', 1).ok());
  char back[4] = {};
  REQUIRE(run.copy_to_host(back, memory, 4).ok());
  CHECK(std::string(back) == "xbc");
  CHECK(run.synchronize({}).ok());
  CHECK(run.release(memory).ok());
  CHECK(run.release(nullptr).ok());
  CHECK(machine.driver().calls("cuMemFree") == 1);
  CHECK(machine.driver().counters().allocations == 0);
}

TEST_CASE("device memory: failure names the driver function") {
  Machine machine;
  machine.driver().configure("fail=cuMemAlloc:*:2");
  void *memory = &machine;
  status s = machine.runtime().allocate(&memory, 1);
  CHECK(s.code() == status_code::out_of_memory);
  CHECK(memory == nullptr);
  CHECK(machine.message(s) == "out of memory on the device (cuMemAlloc)");
  machine.driver().configure("fail=cuStreamSynchronize:*:700");
  CHECK(machine.runtime().synchronize({}).code() == status_code::device_lost);
}

TEST_CASE("allocate: full device returns out_of_memory") {
  Machine machine(Machine::as_driver, "memory=1M");
  const RuntimeFunctions &run = machine.runtime();
  void *memory = nullptr, *more = nullptr;
  REQUIRE(run.allocate(&memory, 1 << 20).ok());
  CHECK(run.allocate(&more, 1).code() == status_code::out_of_memory);
  REQUIRE(run.release(memory).ok());
  CHECK(run.allocate(&more, 1).ok());
  CHECK(run.allocate(&memory, std::size_t(1) << 62).code() == status_code::out_of_memory);
}

TEST_CASE("timer: measures and releases its events") {
  Machine machine;
  float milliseconds = -1;
  REQUIRE(machine.runtime().time_nothing(milliseconds).ok());
  CHECK(milliseconds >= 0);
  CHECK(machine.driver().calls("cuEventCreate") == 2);
  CHECK(machine.driver().calls("cuEventDestroy") == 2);
  CHECK(machine.driver().counters().events == 0);
}
