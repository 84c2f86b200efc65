// The tests' interface to the fake driver: its functions, settings and counters.

#pragma once

#include "emulator/fake_driver/interface.h"
#include "emulator/fake_driver/testing.h"

#include <tritonc/runtime.hpp>

#include <string>

namespace tritonc::emulator::driver {

/// The driver's functions, by their symbols.
struct Functions {
#define FUNCTION(name, symbol, since, parameters) Result(*symbol) parameters = nullptr;
#include "emulator/fake_driver/functions.def"
};

} // namespace tritonc::emulator::driver

namespace tritonc {

namespace cu = emulator::driver;

/// A copy of the fake driver's library with its own file name, so that it has fresh state.
class StandIn : public cu::Functions {
public:
  /// Opens the library, which is never closed, as in programs.
  explicit StandIn(const std::string &library);
  /// Releases the fake driver's address space, so that a process can have many copies.
  ~StandIn();
  StandIn(const StandIn &) = delete;

  /// Applies settings in the syntax of TRITONC_EMULATOR. They must be valid.
  void configure(const std::string &settings);
  /// Applies settings. Returns the error message; "" if they are valid.
  std::string try_configure(const std::string &settings);

  /// Returns the number of calls of a function; null: of all functions.
  int calls(const char *function = nullptr) const;
  void forget_calls();
  cu::Counters counters() const;
  cu::LastLaunch last_launch() const;
  int launches() const { return int(last_launch().count); }
  void reset();

  // Shortcuts, which must succeed.
  cu::Context *new_context(int device = 0); // also makes it current
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
