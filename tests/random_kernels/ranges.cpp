// Computes the ranges of expressions. See ranges.h.

#include "random_kernels/ranges.h"

#include <algorithm>
#include <cmath>

namespace tritonc::random {
namespace {

// Max magnitude of rounded values, far from overflow in every type.
constexpr double largest_rounded = 4096;

// The smallest 2^k - 1 that is at least the magnitude.
double all_bits(double magnitude) {
  double bits = 1;
  while (bits - 1 < magnitude)
    bits *= 2;
  return bits - 1;
}

std::optional<Range> integer_range(Op op, Scalar scalar, const Range &a, const Range &b) {
  switch (op) {
  case Op::div:
  case Op::rem: {
    bool may_overflow = a.low <= least(scalar) && b.low < 0;
    if ((b.low <= 0 && b.high >= 0) || may_overflow)
      return std::nullopt;
    double magnitude = a.magnitude();
    if (op == Op::rem)
      magnitude = std::min(magnitude, b.magnitude() - 1);
    bool is_positive = op == Op::rem ? a.low >= 0 : a.low >= 0 && b.low > 0;
    bool is_negative = op == Op::rem ? a.high <= 0 : false;
    return Range{is_positive ? 0 : -magnitude, is_negative ? 0 : magnitude};
  }
  case Op::shl:
    if (b.low < 0 || b.high >= bits_of(scalar))
      return std::nullopt;
    return Range{std::min(a.low, a.low * std::ldexp(1, int(b.high))),
                 std::max(a.high, a.high * std::ldexp(1, int(b.high)))};
  case Op::shr:
    if (b.low < 0 || b.high >= bits_of(scalar))
      return std::nullopt;
    return Range{std::min(a.low, 0.0), std::max(a.high, 0.0)};
  case Op::bit_and:
    if (a.low >= 0 || b.low >= 0)
      return Range{0, a.low < 0 ? b.high : b.low < 0 ? a.high : std::min(a.high, b.high)};
    [[fallthrough]];
  case Op::bit_or:
  case Op::bit_xor: {
    double bits = all_bits(std::max(a.magnitude(), b.magnitude()));
    return Range{a.low < 0 || b.low < 0 ? -bits - 1 : 0, bits};
  }
  default:
    return std::nullopt;
  }
}

} // namespace

double Range::magnitude() const { return std::max(std::fabs(low), std::fabs(high)); }

bool Range::contains(const Range &other) const {
  return low <= other.low && other.high <= high && fraction_bits >= other.fraction_bits &&
         is_rounded >= other.is_rounded;
}

Range of_type(Scalar scalar) { return {least(scalar), largest(scalar)}; }

Range hull(const Range &a, const Range &b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high),
          std::max(a.fraction_bits, b.fraction_bits), a.is_rounded || b.is_rounded};
}

bool is_exact_in(Scalar scalar, const Range &range) {
  if (is_integer(scalar))
    return range.low >= least(scalar) && range.high <= largest(scalar) &&
           range.fraction_bits == 0 && !range.is_rounded;
  return !range.is_rounded &&
         range.magnitude() <= std::ldexp(1, precision_of(scalar) - range.fraction_bits);
}

std::optional<Range> range_of(Op op, Scalar scalar, const Range &a, const Range &b,
                              bool may_round) {
  if (is_comparison(op) || is_logical(op)) {
    bool is_certain = is_logical(op) || (!a.is_rounded && !b.is_rounded);
    return is_certain ? std::optional(Range{0, 1}) : std::nullopt;
  }
  Range result = hull(a, b);
  switch (op) {
  case Op::add:
    result.low = a.low + b.low;
    result.high = a.high + b.high;
    break;
  case Op::sub:
    result.low = a.low - b.high;
    result.high = a.high - b.low;
    break;
  case Op::mul: {
    auto [low, high] =
        std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
    result = {low, high, a.fraction_bits + b.fraction_bits, result.is_rounded};
    break;
  }
  case Op::min:
    result.low = std::min(a.low, b.low);
    result.high = std::min(a.high, b.high);
    break;
  case Op::max:
    result.low = std::max(a.low, b.low);
    result.high = std::max(a.high, b.high);
    break;
  default:
    if (is_float(scalar))
      return std::nullopt; // `quotient` generates divisions
    std::optional<Range> integers = integer_range(op, scalar, a, b);
    if (!integers)
      return std::nullopt;
    result = *integers;
  }
  if (is_exact_in(scalar, result))
    return result;
  if (is_integer(scalar))
    return is_signed(scalar) || op == Op::div || op == Op::shr ? std::nullopt
                                                               : std::optional(of_type(scalar));
  result.is_rounded = true;
  return may_round && result.magnitude() <= largest_rounded ? std::optional(result) : std::nullopt;
}

std::optional<Range> range_of(Op op, Scalar scalar, const Range &a, bool may_round) {
  Range result = a;
  switch (op) {
  case Op::negate:
    result.low = -a.high;
    result.high = -a.low;
    break;
  case Op::abs:
    result.low = a.low > 0 ? a.low : a.high < 0 ? -a.high : 0;
    result.high = a.magnitude();
    break;
  case Op::bit_not:
    result = {-a.high - 1, -a.low - 1};
    if (!is_signed(scalar))
      return of_type(scalar);
    break;
  case Op::logical_not:
    return a.is_rounded ? std::nullopt : std::optional(Range{0, 1});
  default:
    return std::nullopt; // generate_elements.cpp generates math functions
  }
  if (is_exact_in(scalar, result))
    return result;
  if (is_integer(scalar))
    return is_signed(scalar) ? std::nullopt : std::optional(of_type(scalar));
  result.is_rounded = true;
  return may_round && result.magnitude() <= largest_rounded ? std::optional(result) : std::nullopt;
}

} // namespace tritonc::random
