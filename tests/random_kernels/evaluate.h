// Evaluates a random kernel from its tree: the reference for all legs.
//
// It shares no code with the compiler, not even the types. It also decides whether a kernel is
// valid. In a valid kernel, all stored values are defined, every access is in bounds, no relevant
// value overflows, and no other program or thread can see a store.

#pragma once

#include "random_kernels/exact.h"

#include <string>
#include <vector>

namespace tritonc::random {

/// The final contents of a parameter's buffer.
struct Contents {
  int64_t count = 0; // size in elements: up to the last accessed element
  // Only for output buffers.
  std::vector<Number> elements;
  std::vector<bool> written;
};

struct Evaluation {
  std::string invalid;            // why the kernel is invalid; "" = valid
  std::vector<Contents> contents; // one per parameter; count 0 for scalars
  int64_t cost = 0;               // elements computed by all programs

  /// Whether every stored value is exact. Then all correct executions agree bit for bit.
  bool is_exact() const;
};

/// Requires a kernel that `settle` accepts. A kernel with cost above `max_cost` is invalid.
Evaluation evaluate(const Kernel &kernel, int64_t max_cost = 4'000'000);

} // namespace tritonc::random
