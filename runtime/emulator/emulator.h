// The SIMT emulator: runs a kernel's host code, one fiber per CUDA thread, and says what is wrong
// with it.
//
// Host code is what the generator makes of a kernel's final LLVM IR (abi::host_code): everything
// that only a GPU has is a call of an operation, and those are in ops/. What the emulator knows
// and a GPU doesn't: exact bounds and initialisation of every byte, which accesses are ordered by
// which synchronisation, who waits for whom. README.md says what is modelled and how.
//
//     GlobalMemory memory;
//     void *x = memory.allocate(4096);
//     void *arguments[] = {&x};
//     Launch launch;
//     launch.grid = {8, 1, 1};
//     launch.threads = 128;
//     launch.arguments = arguments;
//     Result result = emulator::launch(code, launch, Options(), memory);
//     for (const Finding &finding : result.findings)
//       std::cerr << finding.text << "\n";
//
// Whatever the kernel does, `launch` comes back, but for two things: a kernel that overflows a
// thread's stack (256 KiB) meets a guard page and the process dies; so does one whose own code,
// rather than an operation, goes wrong (a division by zero).

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

/// Which thread runs next when one has to wait. A right kernel gives the same with each.
enum class Order : uint8_t {
  forward,  // the warp's next lane, then the next warp
  reversed, // the other way round
  random,   // any; threads are also interrupted between operations
};

/// When asynchronous copies land and when wgmma reads its operands.
enum class Async : uint8_t {
  early,  // at once
  late,   // when a wait demands it, or nobody can run; the destination holds NaN until then
  random, // some time in between
};

struct Options {
  Order order = Order::forward;
  Async async = Async::early;
  uint64_t seed = 0;         // of what is random
  bool races = true;         // look for accesses that nothing orders
  bool uninitialized = true; // look for reads of what nobody wrote
  /// Loop iterations that a thread may make; one that makes more ends the launch.
  int64_t max_steps = 1'000'000'000;
  /// OS threads that run blocks; 0: as many as there are cores. Findings and results don't depend
  /// on it, as far as blocks don't depend on each other.
  int workers = 0;
  size_t max_findings = 16; // further ones are only counted
  /// Gets what kernels print, line by line, in the order of the blocks, after the launch. Null: it
  /// goes to stdout.
  std::function<void(std::string_view line)> print;
};

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  friend bool operator==(const Dim3 &a, const Dim3 &b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  }
};

struct Launch {
  Dim3 grid;                 // in blocks, as in CUDA, also where there are clusters
  Dim3 cluster;              // must divide the grid
  uint32_t threads = 0;      // per block: 32 to 1024, whole warps
  uint32_t shared_bytes = 0; // dynamic, per block
  bool starts_early = false; // the launch in front of it may not be done: threads must wait for it
  void *const *arguments = nullptr; // [i] points to the value of parameter i
  /// Constant memory, code.constant_bytes of it; null: nobody has filled any.
  const void *constants = nullptr;
};

struct Finding {
  enum class Kind : uint8_t {
    invalid_launch, // sizes that no GPU takes, host code that this emulator doesn't know
    out_of_bounds,  // *
    misaligned,     // *
    uninitialized,  // something reads bytes that nobody wrote
    race,           // two accesses, at least one of them a write, that nothing orders
    divergence,     // * threads of a warp meet different collective operations
    deadlock,       // * everybody waits
    too_many_steps, // * max_steps
    assertion,      // * the kernel's own
    misuse,         // * an operation is used as its documentation forbids
  }; // *: ends the launch
  Kind kind = Kind::misuse;
  abi::host_site site = {"", 0, 0};       // file "": unknown
  abi::host_site other_site = {"", 0, 0}; // of races: the earlier access
  Dim3 program;                           // its block
  uint32_t thread = 0;                    // in the block
  /// "matmul.tc:31:7: error: ..." and lines of notes; without a newline at the end.
  std::string text;
};

struct Stats {
  uint64_t blocks = 0;
  uint64_t switches = 0;      // from one thread to another
  uint64_t more_findings = 0; // than max_findings
};

struct Result {
  std::vector<Finding> findings; // in the order of the blocks
  Stats stats;
  bool ok() const { return findings.empty(); }
};

/// Runs all blocks. After a finding that ends the launch, blocks behind the one at fault may or may
/// not have run. May be called by several OS threads at once, also with the same memory, as
/// independent kernels may run at once on a GPU.
Result launch(const abi::host_code &code, const Launch &launch, const Options &options,
              GlobalMemory &memory);

/// Gives back what is kept for further launches, the stacks of threads for the most part: a process
/// may have only so many mappings.
void release_machines();

} // namespace tritonc::emulator
