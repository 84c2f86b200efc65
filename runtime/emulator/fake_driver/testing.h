// Functions for tests of programs and of the runtime: change settings while a program runs, and
// read counters. Tests find them by dlsym. They are not part of the driver's interface.

#pragma once

#include "interface.h"

#include <cstddef>
#include <cstdint>

namespace tritonc::emulator::driver {

/// Numbers of live objects.
struct Counters {
  std::uint64_t libraries; // also of modules that own their library
  std::uint64_t contexts;  // also primary contexts
  std::uint64_t streams;   // without default streams
  std::uint64_t events;
  std::uint64_t allocations; // on devices and on the host
  std::uint64_t bytes;       // on devices
  std::uint64_t graphs;      // also executable graphs
  std::uint64_t pools;       // without default pools
  std::uint64_t captures;
  std::uint64_t depth; // of the calling thread's context stack
};

/// The last launch, as requested.
struct LastLaunch {
  const char *kernel;
  const char *gpu; // architecture of the code
  unsigned grid[3];
  unsigned block[3];
  unsigned cluster[3];
  unsigned shared_bytes;
  bool starts_early; // by its attribute; it never really does
  Stream *stream;
  Context *context;
  std::uint64_t count; // launches so far
};

extern "C" {

/// Changes settings, in the syntax of TRITONC_EMULATOR. Returns null, or an error text.
const char *tritoncEmulatorConfigure(const char *settings);

/// Number of calls of a function, including failed calls; null = of all functions.
std::uint64_t tritoncEmulatorCalls(const char *function);
void tritoncEmulatorForgetCalls();

void tritoncEmulatorCounters(Counters *counters);
void tritoncEmulatorLastLaunch(LastLaunch *launch);

/// Resets the driver to its initial state, but keeps settings and call counts. Every handle and
/// every pointer is stale afterwards. No other thread may be in a call.
void tritoncEmulatorReset();
}

} // namespace tritonc::emulator::driver
