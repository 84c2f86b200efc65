// The stand-in driver as tests see it: its functions, and what happened in it.

#pragma once

#include "emulator/driver/interface.h"
#include "emulator/driver/testing.h"

#include <tritonc/runtime.hpp>

#include <string>

namespace tritonc::emulator::driver {

/// The driver's functions, by their symbols.
struct Functions {
#define FUNCTION(name, symbol, since, parameters) Result(*symbol) parameters = nullptr;
#include "emulator/driver/functions.def"
};

} // namespace tritonc::emulator::driver

namespace tritonc {

namespace cu = emulator::driver;

/// A copy of the library, loaded under a name of its own, so that it starts anew.
class StandIn : public cu::Functions {
public:
  /// Opens the library, which stays open, as in programs.
  explicit StandIn(const std::string &library);
  /// Gives back the addresses that its memory takes, so that there can be many.
  ~StandIn();
  StandIn(const StandIn &) = delete;

  /// Settings in the syntax of TRITONC_EMULATOR. They must be right.
  void configure(const std::string &settings);
  /// What is wrong with settings; empty: nothing, and they hold.
  std::string try_configure(const std::string &settings);

  /// How often a function was called; of all functions, if none is named.
  int calls(const char *function = nullptr) const;
  void forget_calls();
  cu::Counters counters() const;
  cu::LastLaunch last_launch() const;
  int launches() const { return int(last_launch().count); }
  void reset();

  // Shorter, and required to succeed.
  cu::Context *new_context(int device = 0); // and current
  cu::Stream *new_stream(unsigned flags = 0);
  cu::Context *current();
  cu::Context *primary(int device = 0);
  void make_current(cu::Context *context);

private:
  decltype(&cu::tritoncEmulatorConfigure) configure_;
  decltype(&cu::tritoncEmulatorCalls) calls_;
  decltype(&cu::tritoncEmulatorForgetCalls) forget_calls_;
  decltype(&cu::tritoncEmulatorCounters) counters_;
  decltype(&cu::tritoncEmulatorLastLaunch) last_launch_;
  decltype(&cu::tritoncEmulatorReset) reset_;
};

inline stream as_stream(cu::Stream *handle) { return reinterpret_cast<CUstream_st *>(handle); }

} // namespace tritonc
