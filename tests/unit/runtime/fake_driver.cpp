// The tests' interface to the fake driver. See fake_driver.h.

#include "unit/runtime/fake_driver.h"

#include <doctest/doctest.h>

#include <dlfcn.h>

namespace tritonc {

namespace {

template <typename Function> void find(void *library, const char *name, Function &function) {
  void *address = dlsym(library, name);
  REQUIRE_MESSAGE(address, name);
  function = reinterpret_cast<Function>(address);
}

} // namespace

StandIn::StandIn(const std::string &library) {
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(handle, dlerror());
#define FUNCTION(name, symbol, since, parameters) find(handle, #symbol, symbol);
#include "emulator/fake_driver/functions.def"
  find(handle, "tritoncEmulatorConfigure", configure_);
  find(handle, "tritoncEmulatorCalls", calls_);
  find(handle, "tritoncEmulatorForgetCalls", forget_calls_);
  find(handle, "tritoncEmulatorCounters", counters_);
  find(handle, "tritoncEmulatorLastLaunch", last_launch_);
  find(handle, "tritoncEmulatorReset", reset_);
}

StandIn::~StandIn() { reset_(); }

void StandIn::configure(const std::string &settings) {
  std::string wrong = try_configure(settings);
  REQUIRE_MESSAGE(wrong.empty(), wrong);
}

std::string StandIn::try_configure(const std::string &settings) {
  const char *wrong = configure_(settings.c_str());
  return wrong ? wrong : "";
}

int StandIn::calls(const char *function) const { return int(calls_(function)); }
void StandIn::forget_calls() { forget_calls_(); }
void StandIn::reset() { reset_(); }

cu::Counters StandIn::counters() const {
  cu::Counters counters;
  counters_(&counters);
  return counters;
}

cu::LastLaunch StandIn::last_launch() const {
  cu::LastLaunch launch;
  last_launch_(&launch);
  return launch;
}

cu::Context *StandIn::new_context(int device) {
  cu::Context *context = nullptr;
  REQUIRE(cuInit(0) == cu::success);
  REQUIRE(cuCtxCreate_v2(&context, 0, device) == cu::success);
  return context;
}

cu::Stream *StandIn::new_stream(unsigned flags) {
  cu::Stream *stream = nullptr;
  REQUIRE(cuStreamCreate(&stream, flags) == cu::success);
  return stream;
}

cu::Context *StandIn::current() {
  cu::Context *context = nullptr;
  REQUIRE(cuCtxGetCurrent(&context) == cu::success);
  return context;
}

cu::Context *StandIn::primary(int device) {
  cu::Context *context = nullptr;
  REQUIRE(cuDevicePrimaryCtxRetain(&context, device) == cu::success);
  REQUIRE(cuDevicePrimaryCtxRelease_v2(device) == cu::success);
  return context;
}

void StandIn::make_current(cu::Context *context) {
  REQUIRE(cuInit(0) == cu::success);
  REQUIRE(cuCtxSetCurrent(context) == cu::success);
}

} // namespace tritonc
