// Arithmetic that knows how far it can be trusted.
//
// A floating-point number comes with a bound on how far any correct execution may be from it. The
// bound is zero as long as nothing is rounded in whatever order sums are formed, which is what
// makes a bitwise comparison possible: small whole numbers, sums below 2^24 in float, and so on.
//
// An operation without a defined result (signed overflow, division by zero, a shift by the width)
// gives poison, and so does a question that rounding could decide either way. Poison may be
// computed with, but must not be stored, branched on or used as an address.

#pragma once

#include "random/tree.h"

namespace tritonc::random {

struct Number {
  int64_t integer = 0; // sign- or zero-extended from its type; of a pointer: which element
  double real = 0;     // floats
  double error = 0;    // floats: the bound
  int buffer = -1;     // pointers: which parameter
  bool poison = false;
  // Of the result of a Sum: how many roundings there are if it does not begin with 0 but with
  // something else that is added to it, the sum of its terms' magnitudes, and the exponent of their
  // lowest digit.
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
/// A conversion, as by a cast.
Number converted(Scalar from, Scalar to, const Number &a);
Number bits_as(Scalar from, Scalar to, const Number &a);

/// A sum of any number of terms in any order, as reductions and dots form it.
class Sum {
public:
  /// The terms, and the result, are of type `scalar`. With `slack`, units in the last place by
  /// which each addition may be off.
  explicit Sum(Scalar scalar, int slack = 1) : scalar_(scalar), slack_(slack) {}
  void add(const Number &term);
  /// The product of two numbers, which is not rounded before it is added. `lowest` is the exponent
  /// of a digit at or below the lowest one of the product.
  void add_product(const Number &a, const Number &b, int lowest);
  Number result() const;

private:
  void add_real(double value, double error, int lowest);

  Scalar scalar_;
  int slack_;
  bool poison_ = false, overflows_ = false;
  __int128 integer_ = 0;
  double real_ = 0, magnitude_ = 0, error_ = 0;
  int lowest_ = 1 << 20; // the exponent of the lowest digit of any term
  int64_t terms_ = 0;
};

/// A product of up to 64 factors in any order, as reductions form it.
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
  // Of floats: products of all magnitudes above 1, of all below, and of their digits.
  double largest_ = 1, least_ = 1, digits_ = 1;
};

/// `a` as a tensor core takes it that rounds to tf32.
Number rounded_to_tf32(const Number &a);

/// The exponent of the lowest digit that is not zero; large for zero.
int lowest_digit(double value);

/// Whether a float of that type can be `value`.
bool is_representable(Scalar scalar, double value);

} // namespace tritonc::random
