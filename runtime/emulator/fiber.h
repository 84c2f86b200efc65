// Fibers: a stack and a saved context for each CUDA thread.
//
// Boost.Context switches fibers in about 5 ns. A stack reserves many addresses but uses little
// memory. A guard page separates any two stacks. The emulator never unwinds a fiber: a fiber runs
// to its end or is abandoned, and another fiber reuses its stack.

#pragma once

#include <cstddef>
#include <vector>

namespace tritonc::emulator {

using Context = void *; // where a suspended fiber resumes; Boost's fcontext_t

inline constexpr size_t stack_bytes = 256 * 1024;

/// The stacks of one OS thread that runs clusters.
class Stacks {
public:
  Stacks() = default;
  ~Stacks();
  Stacks(const Stacks &) = delete;
  Stacks &operator=(const Stacks &) = delete;

  /// Makes at least `count` stacks. Returns false if the process cannot map them.
  bool reserve(unsigned count);
  /// The highest address of stack `i`, aligned to 64 bytes.
  std::byte *top(unsigned i) const;
  bool contains(unsigned i, const void *address) const;

private:
  std::byte *begin(unsigned i) const;
  std::vector<std::byte *> chunks_;
};

} // namespace tritonc::emulator
