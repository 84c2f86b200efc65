// Tests runtime/src/device.cpp and tritonc/device.hpp: memory and time, for samples and tools.

#include "runtime/machine.h"

#include <doctest/doctest.h>

#include <cstring>

using namespace tritonc;

TEST_CASE("the current device is described") {
  Machine machine;
  device_info info;
  REQUIRE(machine.runtime().current_device(info).ok());
  CHECK(std::string(info.name) == "Fake GPU");
  CHECK(info.major == 9);
  CHECK(info.minor == 0);
  CHECK(info.multiprocessors == 132);
  CHECK(machine.current() == machine.primary()); // left current: memory belongs to it
}

TEST_CASE("memory is copied there and back") {
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
  CHECK(machine.driver().calls["cuMemFree"] == 1);
}

TEST_CASE("failures name the driver's function") {
  Machine machine;
  machine.driver().fails["cuMemAlloc"] = 2;
  void *memory = &machine;
  status s = machine.runtime().allocate(&memory, 1);
  CHECK(s.code() == status_code::out_of_memory);
  CHECK(memory == nullptr);
  CHECK(machine.message(s) == "out of memory on the device (cuMemAlloc)");
  machine.driver().fails["cuStreamSynchronize"] = 700;
  CHECK(machine.runtime().synchronize({}).code() == status_code::device_lost);
}

TEST_CASE("a timer measures and releases its events") {
  Machine machine;
  float milliseconds = 0;
  REQUIRE(machine.runtime().time_nothing(milliseconds).ok());
  CHECK(milliseconds == 1.5f);
  CHECK(machine.driver().calls["cuEventCreate"] == 2);
  CHECK(machine.driver().calls["cuEventDestroy"] == 2);
}
