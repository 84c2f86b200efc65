// What only tests of programs and of the runtime use: settings that change while a program runs,
// and what happened so far. Found by dlsym; nothing of this is part of the driver's interface.

#pragma once

#include "interface.h"

#include <cstddef>
#include <cstdint>

namespace tritonc::emulator::driver {

/// What there is at the moment.
struct Counters {
  std::uint64_t libraries; // and modules that brought their own
  std::uint64_t contexts;  // primary ones too
  std::uint64_t streams;   // default ones not
  std::uint64_t events;
  std::uint64_t allocations; // of devices and of the host
  std::uint64_t bytes;       // on devices
  std::uint64_t graphs;      // executable ones too
  std::uint64_t pools;       // but for those that devices come with
  std::uint64_t captures;
  std::uint64_t depth; // of the calling thread's stack of contexts
};

/// The last launch as it was asked for.
struct LastLaunch {
  const char *kernel;
  const char *gpu; // of the code
  unsigned grid[3];
  unsigned block[3];
  unsigned cluster[3];
  unsigned shared_bytes;
  bool starts_early; // it may, by its attribute; it never does
  Stream *stream;
  Context *context;
  std::uint64_t count; // launches so far
};

extern "C" {

/// Changes settings, in the syntax of TRITONC_EMULATOR. Null, or what is wrong with them.
const char *tritoncEmulatorConfigure(const char *settings);

/// How often a function was called, failed calls too; null: all functions together.
std::uint64_t tritoncEmulatorCalls(const char *function);
void tritoncEmulatorForgetCalls();

void tritoncEmulatorCounters(Counters *counters);
void tritoncEmulatorLastLaunch(LastLaunch *launch);

/// As if the process had just started, but for settings and counted calls: every handle and every
/// pointer is stale afterwards. No other thread may be in a call.
void tritoncEmulatorReset();
}

} // namespace tritonc::emulator::driver
