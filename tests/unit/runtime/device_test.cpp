// Tests runtime/src/api/device.cpp and tritonc/device.hpp: device memory and timing.

#include "unit/runtime/machine.h"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <string>

using namespace tritonc;

namespace {

/// A timer of the machine's copy of the runtime.
class Timer {
public:
  explicit Timer(Machine &machine) : run_(machine.runtime()), timer_(run_.new_timer()) {}
  ~Timer() { run_.delete_timer(timer_); }
  Timer(const Timer &) = delete;

  status start(stream where = {}) { return (timer_->*run_.start_timer)(where); }
  status stop(stream where = {}) { return (timer_->*run_.stop_timer)(where); }
  status has_started(bool &started) { return (timer_->*run_.has_started)(started); }
  status milliseconds(float &elapsed) { return (timer_->*run_.milliseconds)(elapsed); }

private:
  const RuntimeFunctions &run_;
  timer *timer_;
};

/// No memory of the device.
void *const nowhere = reinterpret_cast<void *>(4096);

/// A function of device.hpp, and the driver function that does its work.
struct Operation {
  const char *function;
  std::function<status(Machine &)> run;
};

const Operation operations[] = {
    {"cuDeviceGetName",
     [](Machine &machine) {
       device_info info;
       return machine.runtime().current_device(info);
     }},
    {"cuMemAlloc",
     [](Machine &machine) {
       void *memory = nullptr;
       return machine.runtime().allocate(&memory, 16);
     }},
    {"cuMemFree", [](Machine &machine) { return machine.runtime().release(nowhere); }},
    {"cuMemcpyHtoD",
     [](Machine &machine) { return machine.runtime().copy_to_device(nowhere, "", 1); }},
    {"cuMemcpyDtoH",
     [](Machine &machine) {
       char byte = 0;
       return machine.runtime().copy_to_host(&byte, nowhere, 1);
     }},
    {"cuMemsetD8", [](Machine &machine) { return machine.runtime().fill(nowhere, 0, 1); }},
    {"cuStreamSynchronize", [](Machine &machine) { return machine.runtime().synchronize({}); }},
    {"cuEventCreate", [](Machine &machine) { return Timer(machine).start(); }},
    {"cuEventRecord", [](Machine &machine) { return Timer(machine).stop(); }},
    {"cuEventQuery",
     [](Machine &machine) {
       Timer timer(machine);
       bool started = false;
       status s = timer.start();
       return s.ok() ? timer.has_started(started) : s;
     }},
    {"cuEventElapsedTime",
     [](Machine &machine) {
       float elapsed = 0;
       return machine.runtime().time_nothing(elapsed);
     }},
};

} // namespace

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

TEST_CASE("device memory: without a driver, each function returns no_driver") {
  for (const Operation &operation : operations) {
    CAPTURE(operation.function);
    Machine machine(Machine::no_file);
    CHECK(operation.run(machine).code() == status_code::no_driver);
  }
  Machine machine(Machine::no_file);
  Timer timer(machine);
  bool started = true;
  float elapsed = 1;
  CHECK(timer.has_started(started).code() == status_code::no_driver);
  CHECK_FALSE(started);
  CHECK(timer.milliseconds(elapsed).code() == status_code::no_driver);
  CHECK(elapsed == 0);
}

TEST_CASE("device memory: a copy or fill of 0 bytes needs no driver") {
  Machine machine(Machine::no_file);
  const RuntimeFunctions &run = machine.runtime();
  CHECK(run.copy_to_device(nullptr, nullptr, 0).ok());
  CHECK(run.copy_to_host(nullptr, nullptr, 0).ok());
  CHECK(run.fill(nullptr, 1, 0).ok());
  CHECK(run.release(nullptr).ok());
}

TEST_CASE("device memory: an allocation of 0 bytes has an address") {
  Machine machine;
  void *memory = nullptr;
  REQUIRE(machine.runtime().allocate(&memory, 0).ok());
  CHECK(memory);
  CHECK(machine.driver().counters().allocations == 1);
  CHECK(machine.runtime().release(memory).ok());
  CHECK(machine.driver().counters().allocations == 0);
}

TEST_CASE("device memory: driver_too_old names the missing function") {
  for (const Operation &operation : operations) {
    CAPTURE(operation.function);
    Machine machine(Machine::as_driver, std::string("missing=") + operation.function);
    status s = operation.run(machine);
    CHECK(s.code() == status_code::driver_too_old);
    CHECK(std::string(s.argument()) == operation.function);
    Machine complete;
    CHECK(operation.run(complete).code() != status_code::driver_too_old);
  }
}

TEST_CASE("timer: has_started does not wait for the first point") {
  Machine machine;
  Timer timer(machine);
  REQUIRE(timer.start().ok());
  machine.driver().configure("fail=cuEventQuery:1:600"); // the driver's "not ready"
  bool started = true;
  CHECK(timer.has_started(started).ok());
  CHECK_FALSE(started);
  CHECK(timer.has_started(started).ok());
  CHECK(started);
  CHECK(machine.driver().calls("cuEventSynchronize") == 0);
}

TEST_CASE("timer: has_started returns errors of earlier kernels") {
  Machine machine;
  Timer timer(machine);
  REQUIRE(timer.start().ok());
  machine.driver().configure("fail=cuEventQuery:*:700");
  bool started = false;
  status s = timer.has_started(started);
  CHECK(s.code() == status_code::device_lost);
  CHECK(std::string(s.argument()) == "cuEventQuery");
}

TEST_CASE("timer: needs both points") {
  Machine machine;
  Timer timer(machine);
  bool started = true;
  float elapsed = 1;
  auto is_invalid = [](const status &s) {
    return s.code() == status_code::invalid_argument && std::string(s.argument()) == "timer";
  };
  CHECK(is_invalid(timer.has_started(started)));
  CHECK_FALSE(started);
  CHECK(is_invalid(timer.milliseconds(elapsed)));
  CHECK(elapsed == 0);
  REQUIRE(timer.start().ok());
  CHECK(is_invalid(timer.milliseconds(elapsed)));
  REQUIRE(timer.stop().ok());
  CHECK(timer.milliseconds(elapsed).ok());
  CHECK(machine.driver().calls("cuEventElapsedTime") == 1);
}

TEST_CASE("timer: uses its events again") {
  Machine machine;
  {
    Timer timer(machine);
    float elapsed = 0;
    for (int i = 0; i < 3; i++) {
      REQUIRE(timer.start().ok());
      REQUIRE(timer.stop().ok());
      CHECK(timer.milliseconds(elapsed).ok());
    }
    CHECK(machine.driver().calls("cuEventCreate") == 2);
    CHECK(machine.driver().calls("cuEventRecord") == 6);
    CHECK(machine.driver().counters().events == 2);
  }
  CHECK(machine.driver().counters().events == 0);
}

TEST_CASE("timer: an event that the driver cannot destroy stays") {
  Machine machine(Machine::as_driver, "missing=cuEventDestroy");
  float elapsed = 0;
  CHECK(machine.runtime().time_nothing(elapsed).ok());
  CHECK(machine.driver().calls("cuEventDestroy") == 0);
  CHECK(machine.driver().counters().events == 2);
}
