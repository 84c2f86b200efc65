// The driver's entry points: cuInit, the version, cuGetProcAddress, and the functions for tests.

#include "calls.h"
#include "driver.h"
#include "testing.h"

#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace tritonc::emulator::driver {

namespace {

struct Entry {
  std::string_view name;
  int since;
  void *address;
};

const Entry entries[] = {
#define FUNCTION(name, symbol, since, parameters) {#name, since, reinterpret_cast<void *>(&symbol)},
#define ALIAS(name, symbol, since) {#name, since, reinterpret_cast<void *>(&symbol)},
#include "functions.def"
};

enum Found { is_found = 0, no_such_symbol = 1, version_not_sufficient = 2 };

bool is_missing(std::string_view name) {
  for (const std::string &missing : driver().settings.missing)
    if (missing == name)
      return true;
  return false;
}

/// The newest interface that is not newer than `version`.
Found find_entry(std::string_view name, int version, void *&address) {
  Found found = no_such_symbol;
  if (is_missing(name))
    return found;
  for (const Entry &entry : entries) {
    if (entry.name != name)
      continue;
    if (entry.since > version) {
      found = found == is_found ? is_found : version_not_sufficient;
      continue;
    }
    address = entry.address;
    found = is_found;
  }
  return found;
}

Result find_function(const char *name, void **address, int version, int *found) {
  if (!name || !address)
    return invalid_value;
  *address = nullptr;
  if (found)
    *found = no_such_symbol;
  if (version > driver().settings.version)
    return invalid_value;
  Found what = find_entry(name, version, *address);
  if (!found)
    return what == is_found ? success : not_found;
  *found = what; // a caller that passes `found` gets no error
  return success;
}

void add_devices() {
  Driver &state = driver();
  while (state.devices.size() < std::size_t(state.settings.devices)) {
    state.devices.push_back(std::make_unique<DeviceState>());
    state.devices.back()->pool.device = Device(state.devices.size() - 1);
  }
  for (std::size_t i = 0; i < state.devices.size(); i++)
    state.devices[i]->gpu = state.settings.gpu(Device(i));
}

} // namespace

extern "C" {

Result cuInit(unsigned flags) {
  return call("cuInit", Needs::nothing, [&]() -> Result {
    Driver &state = driver();
    if (flags != 0)
      return invalid_value;
    if (!state.wrong_setting.empty()) {
      std::fprintf(stderr, "TRITONC_EMULATOR: %s\n", state.wrong_setting.c_str());
      return invalid_value;
    }
    if (state.settings.devices == 0)
      return no_device;
    add_devices();
    state.process = getpid();
    state.is_initialized = true;
    return success;
  });
}

Result cuDriverGetVersion(int *version) {
  return call("cuDriverGetVersion", Needs::nothing, [&]() -> Result {
    if (!version)
      return invalid_value;
    *version = driver().settings.version;
    return success;
  });
}

Result cuGetProcAddress(const char *name, void **address, int version, std::uint64_t) {
  return call("cuGetProcAddress", Needs::nothing,
              [&]() -> Result { return find_function(name, address, version, nullptr); });
}

Result cuGetProcAddress_v2(const char *name, void **address, int version, std::uint64_t,
                           int *found) {
  return call("cuGetProcAddress", Needs::nothing,
              [&]() -> Result { return find_function(name, address, version, found); });
}

Result tritoncEmulatorVersion(int *version, int *takes_any_gpu) {
  return call("tritoncEmulatorVersion", Needs::nothing, [&]() -> Result {
    *version = abi::host_code_version;
    *takes_any_gpu = !driver().settings.fixes_gpu;
    return success;
  });
}

Result cuProfilerStart() {
  return call("cuProfilerStart", Needs::context, [](Context &) -> Result { return success; });
}

Result cuProfilerStop() {
  return call("cuProfilerStop", Needs::context, [](Context &) -> Result { return success; });
}

// ---- for tests ----

TRITONC_EXPORT const char *tritoncEmulatorConfigure(const char *settings) {
  Driver &state = driver();
  std::lock_guard lock(state.mutex);
  std::string_view wrong = change_settings(settings);
  if (state.is_initialized)
    add_devices();
  return wrong.empty() ? nullptr : wrong.data();
}

TRITONC_EXPORT std::uint64_t tritoncEmulatorCalls(const char *function) {
  return calls_of(function ? function : "");
}

TRITONC_EXPORT void tritoncEmulatorForgetCalls() { forget_calls(); }

TRITONC_EXPORT void tritoncEmulatorCounters(Counters *counters) {
  Driver &state = driver();
  std::lock_guard lock(state.mutex);
  *counters = {};
  counters->libraries = state.libraries.size();
  for (auto &context : state.contexts)
    counters->contexts += context->is_alive;
  counters->streams = state.streams.size();
  counters->events = state.events.size();
  counters->allocations = state.allocations.size();
  for (auto &device : state.devices)
    counters->bytes += device->used_bytes;
  counters->graphs = state.graphs.size() + state.executables.size();
  counters->pools = state.pools.size();
  counters->captures = state.captures.size();
  counters->depth = depth_of_contexts();
}

TRITONC_EXPORT void tritoncEmulatorLastLaunch(LastLaunch *launch) {
  Driver &state = driver();
  std::lock_guard lock(state.mutex);
  *launch = state.last_launch;
}

TRITONC_EXPORT void tritoncEmulatorReset() {
  Driver &state = driver();
  std::lock_guard lock(state.mutex);
  for (auto &context : state.contexts)
    if (context->is_alive)
      state.destroy(*context);
  state.libraries.clear();
  state.kernels.clear();
  state.graphs.clear();
  state.pools.clear();
  state.devices.clear();
  state.global_memory.reset();
  release_machines();
  state.last_launch = {};
  state.is_initialized = false;
  state.process = 0;
}

} // extern "C"

} // namespace tritonc::emulator::driver
