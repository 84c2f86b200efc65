// A stand-in for the CUDA driver: a shared library that the runtime opens through TRITONC_DRIVER.
//
// It loads nothing and runs nothing; it keeps account. Tests set what machine it pretends to be and
// which calls fail, and read which calls were made. Each test opens a copy of its own, so nothing
// carries over.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace fake {

struct Device {
  int major = 9, minor = 0, multiprocessors = 132;
};

/// Contexts and streams are addresses of these; what the driver's opaque pointers point to.
struct Context {
  int device = 0;
};
struct Stream {
  Context *context = nullptr;
  bool is_green = false; // belongs to no plain context
  bool is_capturing = false;
};

struct Launch {
  std::string kernel;
  std::string image; // the bytes after the runtime's own header
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void *stream;
  void *context; // current when it was made
  std::vector<std::uint64_t>
      arguments; // the 8 bytes behind each pointer, as far as `argument_sizes` says
};

struct Driver {
  // What it pretends to be.
  int version = 13000;
  std::vector<Device> devices = {Device{}};
  std::set<std::string> missing;         // functions that cuGetProcAddress doesn't have
  std::map<std::string, int> fails;      // function: its result
  std::map<std::string, int> fails_once; // the same, for its next call only
  std::vector<unsigned> argument_sizes;

  // What happened.
  std::mutex mutex;
  std::map<std::string, int> calls;
  std::vector<std::string> loaded;
  std::vector<Launch> launches;
  std::vector<std::string> attributes; // "kernel device value"
  std::vector<int> capture_modes;      // as exchanged
  std::atomic<int> pushed{0}, popped{0};
};

} // namespace fake

extern "C" fake::Driver *fake_driver();
extern "C" void fake_make_current(fake::Context *context); // in the calling thread
extern "C" fake::Context *fake_current();
extern "C" fake::Context *fake_primary();
