// Ranges of the expressions of a random kernel. The generator tracks them, so that most kernels are
// valid at once.
//
// Ranges may be too wide, and sometimes too narrow; `evaluate` decides.

#pragma once

#include "random_kernels/tree.h"

#include <optional>

namespace tritonc::random {

struct Range {
  double low = 0, high = 0;
  int fraction_bits = 0;   // values are multiples of 2^-fraction_bits
  bool is_rounded = false; // inexact: must not be compared or converted to an integer

  double magnitude() const;
  bool contains(const Range &other) const;
};

Range of_type(Scalar scalar); // of an integer type
Range hull(const Range &a, const Range &b);

/// Whether all values of the range are exact in the type.
bool is_exact_in(Scalar scalar, const Range &range);

/// The range of a binary operator on operands converted to `scalar`. Returns nullopt if the result
/// may be undefined, or rounded while `may_round` is false.
std::optional<Range> range_of(Op op, Scalar scalar, const Range &a, const Range &b, bool may_round);
std::optional<Range> range_of(Op op, Scalar scalar, const Range &a, bool may_round);

} // namespace tritonc::random
