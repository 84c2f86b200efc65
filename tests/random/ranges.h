// Which numbers an expression of a random kernel can be: what the generator knows while it grows
// one, so that most of what it makes is valid at once.
//
// Ranges may be too wide, and now and then too narrow: `evaluate` has the last word.

#pragma once

#include "random/tree.h"

#include <optional>

namespace tritonc::random {

struct Range {
  double low = 0, high = 0;
  int fraction_bits = 0;   // numbers are multiples of 2 to minus this power
  bool is_rounded = false; // not exact any more: must not be compared, or made an integer

  double magnitude() const;
  bool contains(const Range &other) const;
};

Range of_type(Scalar scalar); // of an integer type
Range hull(const Range &a, const Range &b);

/// Whether all such numbers are exact in the type. Integers: whether they are in the type.
bool is_exact_in(Scalar scalar, const Range &range);

/// What a binary operator makes of operands that were converted to `scalar`; nothing if it may have
/// no result, or a rounded one where `may_round` is false.
std::optional<Range> range_of(Op op, Scalar scalar, const Range &a, const Range &b, bool may_round);
std::optional<Range> range_of(Op op, Scalar scalar, const Range &a, bool may_round);

} // namespace tritonc::random
