// Fibers: a stack and a place in the code for each CUDA thread, and switching between them.
//
// Boost.Context does the switching, some 5 ns. Stacks are large in addresses and small in memory,
// with a page between any two that nobody may touch. A fiber is never unwound: it runs to its end
// or is forgotten, and its stack is used for another.

#pragma once

#include <cstddef>
#include <vector>

namespace tritonc::emulator {

using Context = void *; // where a fiber that doesn't run goes on; boost's fcontext_t

inline constexpr size_t stack_bytes = 256 * 1024;

/// The stacks of one OS thread that runs clusters.
class Stacks {
public:
  Stacks() = default;
  ~Stacks();
  Stacks(const Stacks &) = delete;
  Stacks &operator=(const Stacks &) = delete;

  /// Makes sure that there are `count`. False if this process can't have so many.
  bool reserve(unsigned count);
  /// The highest address of stack `i`, aligned to 64.
  std::byte *top(unsigned i) const;
  bool contains(unsigned i, const void *address) const;

private:
  std::byte *begin(unsigned i) const;
  std::vector<std::byte *> chunks_;
};

} // namespace tritonc::emulator
