// Arithmetic with error bounds.
//
// A floating-point value has a bound on the difference to any correct execution. The bound is zero
// if no rounding occurs in any order of sums. Then results can be compared bit for bit. Examples:
// small integers, sums below 2^24 in float.
//
// An operation with an undefined result (signed overflow, division by zero, a shift by the width)
// gives poison. So does a comparison whose result depends on rounding. Poison may be an operand,
// but must not be stored, branched on, or used as an address.

#pragma once

#include "random_kernels/tree.h"

namespace tritonc::random {

struct Number {
  int64_t integer = 0; // sign- or zero-extended from its type; of a pointer: element index
  double real = 0;     // floats
  double error = 0;    // floats: error bound
  int buffer = -1;     // pointers: parameter index
  bool poison = false;
  // Of the result of a Sum, for a sum that starts with another addend instead of 0: the number of
  // roundings, the sum of the terms' magnitudes, and the exponent of their lowest bit.
  double roundings = 0, magnitude = 0;
  int lowest = 0;

  static Number of_integer(int64_t value) { return {value}; }
  static Number of_real(double value) { return {0, value}; }
  static Number pointer(int buffer, int64_t at) { return {at, 0, 0, buffer}; }
  static Number no_value() { return {0, 0, 0, -1, true}; }
};

/// add to max; both operands have the type `scalar`. Comparisons give a bool.
Number binary(Op op, Scalar scalar, const Number &a, const Number &b);
/// negate to erf.
Number unary(Op op, Scalar scalar, const Number &a);
/// a * b + c, rounded once.
Number multiplied_and_added(Scalar scalar, const Number &a, const Number &b, const Number &c);
/// A conversion, as in a cast.
Number converted(Scalar from, Scalar to, const Number &a);
Number bits_as(Scalar from, Scalar to, const Number &a);

/// A sum of any number of terms in any order, as in reductions and dots.
class Sum {
public:
  /// Terms and result have type `scalar`. `slack`: max error of each addition, in ulp.
  explicit Sum(Scalar scalar, int slack = 1) : scalar_(scalar), slack_(slack) {}
  void add(const Number &term);
  /// Adds the unrounded product of two values. `lowest` is at most the exponent of the product's
  /// lowest bit.
  void add_product(const Number &a, const Number &b, int lowest);
  Number result() const;

private:
  void add_real(double value, double error, int lowest);

  Scalar scalar_;
  int slack_;
  bool poison_ = false, overflows_ = false;
  __int128 integer_ = 0;
  double real_ = 0, magnitude_ = 0, error_ = 0;
  int lowest_ = 1 << 20; // min exponent of the terms' lowest bits
  int64_t terms_ = 0;
};

/// A product of up to 64 factors in any order, as in reductions.
class Product {
public:
  explicit Product(Scalar scalar) : scalar_(scalar) {}
  void multiply(const Number &factor);
  Number result() const;

private:
  Scalar scalar_;
  bool poison_ = false;
  uint64_t integer_ = 1;
  Number product_ = Number::of_real(1);
  // Of floats: the products of all magnitudes above 1, of all below 1, and of their significands.
  double largest_ = 1, least_ = 1, digits_ = 1;
};

/// `a` rounded to tf32, as for a tensor core.
Number rounded_to_tf32(const Number &a);

/// The exponent of the lowest nonzero bit; large for zero.
int lowest_digit(double value);

/// Whether `value` is exact in that float type.
bool is_representable(Scalar scalar, double value);

} // namespace tritonc::random
