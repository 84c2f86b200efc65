// Error bounds for single elements. A test computes each expected value with its own bound, so one
// wrong element fails the test, however many other elements are right.
//
// **A sum of n products.** Additions in any order, in any number of partial sums, give a sum that
// differs from the exact sum by at most
//
//     n u / (1 - n u) * (|a_1 b_1| + ... + |a_n b_n|)
//
// with the accumulator's unit roundoff u: Higham, "Accuracy and Stability of Numerical Algorithms",
// second edition, sections 3.1 (inner products) and 4.2 (any order of additions).
//
// Tensor cores truncate instead of rounding. A block of L products has an error of at most
// (L + 1) 2^(E - f) + 2^-m |sum| (runtime/emulator/models/accumulation.h). 2^E is at most the
// sum of the magnitudes. The n / L blocks together stay within Higham's bound for this u:
//
//     operands                   f      m    L            u
//     half, bfloat16, tf32       >= 24  23   >= 4         2^-23
//     8-bit floats               13     13   >= 16        2^-12
//     float, without tensor cores (rounded to nearest)    2^-24, here 2^-23
//     double (rounded to nearest, as is the reference)    2^-53, here 2^-52
//
// Sums of integers are exact up to a limit. Inputs of small integers therefore find errors that are
// smaller than the bound of a long sum, such as one missing product.
//
// **What follows the sum** adds its own rounding errors (Higham, section 3.3, running error
// analysis): see `Bounded`.
//
// Tested by error_bounds_test.cpp, without a GPU.

#pragma once

#include <tritonc/numbers.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <type_traits>

namespace device_tests {

/// The significand's bits, and the exponent of the smallest normal value, of a floating-point type.
template <typename T> struct Format {
  static constexpr int digits = std::numeric_limits<T>::digits;
  static constexpr int min_exponent = std::numeric_limits<T>::min_exponent - 1;
};
template <> struct Format<tritonc::half> {
  static constexpr int digits = 11, min_exponent = -14;
};
template <> struct Format<tritonc::bfloat16> {
  static constexpr int digits = 8, min_exponent = -126;
};
template <> struct Format<tritonc::float8_e4m3> {
  static constexpr int digits = 4, min_exponent = -6;
};
template <> struct Format<tritonc::float8_e5m2> {
  static constexpr int digits = 3, min_exponent = -14;
};

/// An exact value, and the max error of a right result.
struct Bounded {
  double value = 0, error = 0;
};

inline Bounded operator+(Bounded a, Bounded b) { return {a.value + b.value, a.error + b.error}; }
inline Bounded operator*(Bounded a, double factor) {
  return {a.value * factor, a.error * std::fabs(factor)};
}
inline Bounded max(Bounded a, double limit) { return {std::max(a.value, limit), a.error}; }

/// The value after rounding to the nearest T. Integers are exact.
template <typename T> Bounded rounded(Bounded a) {
  if constexpr (std::is_integral_v<T>)
    return a;
  else {
    double smallest = std::ldexp(1, Format<T>::min_exponent - Format<T>::digits + 1);
    a.error += std::ldexp(std::fabs(a.value) + a.error, -Format<T>::digits) + smallest / 2;
    return a;
  }
}

/// How products of T operands accumulate. See the first comment.
template <typename T> struct Accumulator {
  static constexpr double unit = std::is_integral_v<T>       ? 0
                                 : std::is_same_v<T, double> ? 0x1p-52
                                 : sizeof(T) == 1            ? 0x1p-12
                                                             : 0x1p-23;
  /// Sums of integers are exact up to this sum of magnitudes.
  static constexpr double exact = std::is_same_v<T, double> ? 0x1p53
                                  : sizeof(T) == 1          ? 0x1p13
                                                            : 0x1p24;
};

/// A sum of n products of T operands. `magnitude`: the sum of the products' magnitudes.
/// `operand_error`: the relative error of a product through rounding of its operands.
template <typename T>
Bounded sum_of_products(double value, double magnitude, int n, double operand_error = 0) {
  double nu = n * Accumulator<T>::unit;
  double of_additions = nu < 1 ? nu / (1 - nu) : std::numeric_limits<double>::infinity();
  return {value, magnitude > 0 ? (operand_error + of_additions) * magnitude : 0};
}

/// The same, with integers as operands.
template <typename T> Bounded sum_of_integers(double value, double magnitude, int n) {
  if (magnitude <= Accumulator<T>::exact)
    return {value, 0};
  return sum_of_products<T>(value, magnitude, n);
}

/// Whether a computed element is right. NaN never is.
inline bool is_right(double found, Bounded expected) {
  return std::fabs(found - expected.value) <= expected.error;
}

/// One unit in the last place of a T near `value`. T's range limits the exponent.
template <typename T> double unit_in_last_place(double value) {
  using Limits = std::numeric_limits<T>;
  double magnitude = std::clamp(std::fabs(value), double(Limits::min()), double(Limits::max()));
  return std::ldexp(1, std::ilogb(magnitude) - (Limits::digits - 1));
}

/// Whether the T `found` is a right result for the exact value `right`, which T may be unable to
/// represent. `error`: the max error. A NaN must be NaN. Results from T's maximum plus half a unit
/// in the last place on are infinite.
template <typename T> bool is_within(double found, double right, double error) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(right) || std::isnan(found))
    return std::isnan(right) && std::isnan(found);
  if (std::isinf(right))
    return found == right;
  if (std::isinf(found)) {
    double overflow = double(Limits::max()) * (1 + std::ldexp(1, -Limits::digits - 1));
    return std::signbit(found) == std::signbit(right) && std::fabs(right) + error >= overflow;
  }
  return std::fabs(found - right) <= error + double(Limits::denorm_min()) / 2;
}

/// Describes the first wrong element of a matrix; "" if all are right. `found(row, column)` and
/// `expected(row, column)` return a double and a Bounded.
template <typename Found, typename Expected>
std::string find_wrong_element(int rows, int columns, const Found &found,
                               const Expected &expected) {
  for (int row = 0; row < rows; row++)
    for (int column = 0; column < columns; column++) {
      double is = found(row, column);
      Bounded right = expected(row, column);
      if (is_right(is, right))
        continue;
      char text[160];
      std::snprintf(text, sizeof text, "element (%d, %d) is %.9g, not %.9g within %.2g", row,
                    column, is, right.value, right.error);
      return text;
    }
  return "";
}

} // namespace device_tests
