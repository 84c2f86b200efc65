// What a random kernel means, worked out from its tree.
//
// The second opinion on everything from the front end to the machine code: it shares nothing with
// the compiler, not even the types. It also says whether a kernel is one that must work at all.
// Then all that is stored is defined, every access lies inside of its buffer, nothing overflows
// that matters, and no store can be seen by another program or thread.

#pragma once

#include "random/exact.h"

#include <string>
#include <vector>

namespace tritonc::random {

/// What the kernel leaves in the buffer of a parameter.
struct Contents {
  int64_t count = 0; // elements that the buffer has: up to the last one that is accessed
  // Of buffers that are written; the others have only a count.
  std::vector<Number> elements;
  std::vector<bool> written;
};

struct Evaluation {
  std::string invalid;            // why the kernel must not be run; "" if it may be
  std::vector<Contents> contents; // one per parameter; count 0 for numbers
  int64_t cost = 0;               // elements computed, by all programs together

  /// Whether every stored number is exact: then all correct executions agree bit by bit.
  bool is_exact() const;
};

/// Needs a kernel that `settle` accepts. One that costs more than `max_cost` is invalid.
Evaluation evaluate(const Kernel &kernel, int64_t max_cost = 4'000'000);

} // namespace tritonc::random
