// The SIMT emulator: runs a kernel's host code, one fiber per CUDA thread, and reports its errors.
//
// The generator compiles a kernel's final LLVM IR to host code (abi::host_code). Host code calls an
// *operation* (ops/) for everything that only a GPU has. The emulator tracks data that a GPU does
// not: exact bounds and initialization of every byte, which synchronization orders which accesses,
// and which thread waits for which. See docs/pages/reference/emulator.md for the model.
//
//     GlobalMemory memory;
//     void *x = memory.allocate(4096);
//     void *arguments[] = {&x};
//     Launch launch;
//     launch.grid = {8, 1, 1};
//     launch.threads = 128;
//     launch.arguments = arguments;
//     Result result = emulator::launch(code, launch, Options(), memory);
//     for (const Report &report : result.reports)
//       std::cerr << report.text << "\n";
//
// `launch` returns whatever the kernel does, with two exceptions that kill the process:
//
//     - the kernel overflows a thread's stack (256 KiB) and hits the guard page;
//     - the kernel's own code, not an operation, faults (a division by zero).

#pragma once

#include <tritonc/descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tritonc::emulator {

class GlobalMemory;

/// The interleaving: which thread runs next when a thread has to wait. A correct kernel computes
/// the same results with each.
enum class Order : uint8_t {
  forward,  // the warp's next lane, then the next warp
  reversed, // the previous lane, then the previous warp
  random,   // any thread; the scheduler also interrupts threads between operations
};

/// When asynchronous copies land and when wgmma reads its operands.
enum class Async : uint8_t {
  early,  // when issued
  late,   // when a wait demands it or no thread can run; the destination holds NaN until then
  random, // at a random time in between
};

struct Options {
  Order order = Order::forward;
  Async async = Async::early;
  uint64_t seed = 0;         // of Order::random and Async::random
  bool races = true;         // report data races
  bool uninitialized = true; // report reads of bytes that were never written
  /// Maximum loop iterations per thread; a thread that exceeds it ends the launch.
  int64_t max_steps = 1'000'000'000;
  /// OS threads that run blocks; 0 = one per core. If blocks don't depend on each other, reports
  /// and results don't depend on this number.
  int workers = 0;
  size_t max_reports = 16; // further reports are only counted
  /// Receives the kernel's printed lines after the launch, in the order of the blocks. Null =
  /// stdout.
  std::function<void(std::string_view line)> print;
};

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  friend bool operator==(const Dim3 &a, const Dim3 &b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  }
};

struct Launch {
  Dim3 grid;                 // in blocks, as in CUDA, also for cluster launches
  Dim3 cluster;              // in blocks; must divide the grid
  uint32_t threads = 0;      // per block: a multiple of 32, 32 to 1024
  uint32_t shared_bytes = 0; // dynamic, per block
  bool starts_early = false; // programmatic dependent launch: threads must wait (dependency_wait)
  void *const *arguments = nullptr; // [i] points to the value of parameter i
  /// Constant memory, code.constant_bytes long; null = not filled.
  const void *constants = nullptr;
};

struct Report {
  enum class Kind : uint8_t {
    invalid_launch, // sizes that no GPU takes, or host code of an unknown version
    out_of_bounds,  // *
    misaligned,     // *
    uninitialized,  // a read of bytes that were never written
    race,           // two unordered accesses, at least one of them a write
    divergence,     // * threads of a warp reach different collective operations
    deadlock,       // * all threads wait
    too_many_steps, // * max_steps
    assertion,      // * an assertion of the kernel failed
    misuse,         // * a use of an operation that its documentation forbids
  }; // *: ends the launch
  Kind kind = Kind::misuse;
  abi::host_site site = {"", 0, 0};       // file "" = unknown
  abi::host_site other_site = {"", 0, 0}; // of a race: the earlier access
  Dim3 program;                           // the block's index
  uint32_t thread = 0;                    // in the block
  /// "matmul.tc:31:7: error: ..." and the lines of the notes, without a final newline.
  std::string text;
};

struct Stats {
  uint64_t blocks = 0;
  uint64_t switches = 0;     // from thread to thread
  uint64_t more_reports = 0; // beyond max_reports
};

struct Result {
  std::vector<Report> reports; // in the order of the blocks
  Stats stats;
  bool ok() const { return reports.empty(); }
};

/// Runs all blocks. After a report that ends the launch, the blocks after the faulty block may or
/// may not have run. Several OS threads may call this at the same time, also with the same memory,
/// as independent kernels may run concurrently on a GPU.
Result launch(const abi::host_code &code, const Launch &launch, const Options &options,
              GlobalMemory &memory);

/// Frees the memory kept for further launches, mostly thread stacks. The OS limits the number of
/// mappings of a process.
void release_machines();

} // namespace tritonc::emulator
