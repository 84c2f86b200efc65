// Implements arithmetic with error bounds. See exact.h.

#include "random_kernels/exact.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace tritonc::random {
namespace {

using Wide = __int128;

// Wraps a value to an integer type.
int64_t wrapped(Scalar scalar, Wide value) {
  if (scalar == Scalar::bool_)
    return value != 0;
  int unused = 64 - bits_of(scalar);
  uint64_t bits = uint64_t(value) << unused;
  return is_signed(scalar) ? int64_t(bits) >> unused : int64_t(bits >> unused);
}

Wide wide(Scalar scalar, int64_t value) {
  return scalar == Scalar::uint64 ? Wide(uint64_t(value)) : Wide(value);
}

// The result of integer arithmetic: unsigned types wrap; signed overflow gives poison.
Number integer_result(Scalar scalar, Wide value) {
  int64_t result = wrapped(scalar, value);
  if (is_signed(scalar) && wide(scalar, result) != value)
    return Number::no_value();
  return Number::of_integer(result);
}

double largest_float(Scalar scalar) {
  switch (scalar) {
  case Scalar::e4m3:
    return 448;
  case Scalar::e5m2:
    return 57344;
  case Scalar::half:
    return 65504;
  case Scalar::bfloat16:
    return 0x1.fep127;
  case Scalar::float_:
    return 0x1.fffffep127;
  default:
    return 0x1.fffffffffffffp1023;
  }
}

// The smallest distance between two values of the type.
double min_step(Scalar scalar) {
  switch (scalar) {
  case Scalar::e4m3:
    return 0x1p-9;
  case Scalar::e5m2:
    return 0x1p-16;
  case Scalar::half:
    return 0x1p-24;
  case Scalar::double_:
    return 0x1p-1074;
  default: // bf16 and float; larger than exact, in case subnormal values are flushed
    return 0x1p-126;
  }
}

double unit(Scalar scalar) { return std::ldexp(1.0, 1 - precision_of(scalar)); }

// A computed float. `is_exact` false: the exact result differs from `value`.
Number real_result(Scalar scalar, double value, double error, bool is_exact, int slack = 1) {
  if (std::isnan(value) || std::isnan(error))
    return Number::no_value();
  if (std::isinf(value))
    return error == 0 && scalar != Scalar::e4m3 ? Number::of_real(value) : Number::no_value();
  if (std::fabs(value) + error > largest_float(scalar))
    return Number::no_value();
  if (error != 0 || !is_exact || !is_representable(scalar, value))
    error += (std::fabs(value) + error) * unit(scalar) * slack + min_step(scalar);
  return {0, value, error};
}

// A matmul may start with the addend instead of 0. Then each term may be rounded to the precision
// of the total.
double rounding_within(Scalar scalar, const Number &sum, const Number &first) {
  if (sum.roundings == 0)
    return 0;
  double magnitude = sum.magnitude + std::fabs(first.real) + first.error;
  int lowest = std::min({sum.lowest, lowest_digit(first.real), 900});
  bool is_exact = sum.error == 0 && first.error == 0 &&
                  magnitude <= std::ldexp(1.0, precision_of(scalar) + lowest);
  return is_exact ? 0 : sum.roundings * unit(scalar) * magnitude;
}

Number real_sum(Scalar scalar, const Number &a, const Number &b, double sign) {
  double y = sign * b.real, sum = a.real + y, back = sum - a.real;
  bool is_exact = std::isinf(sum) || (a.real - (sum - back)) + (y - back) == 0;
  if (std::isinf(sum) && !std::isinf(a.real) && !std::isinf(y))
    return Number::no_value();
  double error = a.error + b.error + rounding_within(scalar, a, b) + rounding_within(scalar, b, a);
  return real_result(scalar, sum, error, is_exact);
}

Number real_product(Scalar scalar, const Number &a, const Number &b) {
  double product = a.real * b.real;
  bool is_infinite = std::isinf(a.real) || std::isinf(b.real);
  bool is_exact = is_infinite || std::fma(a.real, b.real, -product) == 0;
  if (std::isinf(product) && !is_infinite)
    return Number::no_value();
  double error = std::fabs(a.real) * b.error + std::fabs(b.real) * a.error + a.error * b.error;
  return real_result(scalar, product, is_infinite && error == 0 ? 0 : error, is_exact);
}

Number real_quotient(Scalar scalar, const Number &a, const Number &b) {
  double min_divisor = std::fabs(b.real) - b.error;
  if (!(min_divisor > 0) || std::isinf(a.real) || std::isinf(b.real))
    return Number::no_value();
  double quotient = a.real / b.real;
  bool is_exact = std::fma(quotient, b.real, -a.real) == 0;
  double error = (a.error + std::fabs(quotient) * b.error) / min_divisor;
  return real_result(scalar, quotient, error, is_exact);
}

// Whether the order of a and b is certain despite their error bounds.
bool is_order_certain(const Number &a, const Number &b) {
  if (a.error == 0 && b.error == 0)
    return true;
  return std::fabs(a.real - b.real) > a.error + b.error;
}

template <typename T> bool holds(Op op, T a, T b) {
  switch (op) {
  case Op::lt:
    return a < b;
  case Op::le:
    return a <= b;
  case Op::gt:
    return a > b;
  case Op::ge:
    return a >= b;
  case Op::eq:
    return a == b;
  default:
    return a != b;
  }
}

Number real_binary(Op op, Scalar scalar, const Number &a, const Number &b) {
  switch (op) {
  case Op::add:
    return real_sum(scalar, a, b, 1);
  case Op::sub:
    return real_sum(scalar, a, b, -1);
  case Op::mul:
    return real_product(scalar, a, b);
  case Op::div:
    return real_quotient(scalar, a, b);
  case Op::min:
  case Op::max: {
    bool takes_a = op == Op::min ? a.real < b.real : a.real > b.real;
    Number result = takes_a ? a : b;
    if (!is_order_certain(a, b))
      result.error = std::max(a.error, b.error);
    return result;
  }
  default:
    return is_order_certain(a, b) ? Number::of_integer(holds(op, a.real, b.real))
                                  : Number::no_value();
  }
}

Number shifted(Op op, Scalar scalar, int64_t a, int64_t by) {
  if (by < 0 || by >= bits_of(scalar))
    return Number::no_value();
  if (op == Op::shr)
    return Number::of_integer(wrapped(scalar, wide(scalar, a) >> by));
  return integer_result(scalar, wide(scalar, a) * (Wide(1) << by));
}

Number integer_binary(Op op, Scalar scalar, int64_t x, int64_t y) {
  Wide a = wide(scalar, x), b = wide(scalar, y);
  switch (op) {
  case Op::add:
    return integer_result(scalar, a + b);
  case Op::sub:
    return integer_result(scalar, a - b);
  case Op::mul: {
    Wide product;
    if (__builtin_mul_overflow(a, b, &product)) // two unsigned 64-bit values
      return Number::of_integer(int64_t(uint64_t(x) * uint64_t(y)));
    return integer_result(scalar, product);
  }
  case Op::div:
    return b == 0 ? Number::no_value() : integer_result(scalar, a / b);
  case Op::rem:
    // The remainder of the min value by -1 is undefined, because the quotient overflows.
    return b == 0 || integer_result(scalar, a / b).poison ? Number::no_value()
                                                          : integer_result(scalar, a % b);
  case Op::shl:
  case Op::shr:
    return shifted(op, scalar, x, y);
  case Op::bit_and:
    return Number::of_integer(x & y);
  case Op::bit_xor:
    return Number::of_integer(x ^ y);
  case Op::bit_or:
    return Number::of_integer(x | y);
  case Op::logical_and:
    return Number::of_integer(x && y);
  case Op::logical_or:
    return Number::of_integer(x || y);
  case Op::min:
    return Number::of_integer(a < b ? x : y);
  case Op::max:
    return Number::of_integer(a > b ? x : y);
  default:
    return Number::of_integer(holds(op, a, b));
  }
}

double rounded(Op op, double value) {
  switch (op) {
  case Op::floor:
    return std::floor(value);
  case Op::ceil:
    return std::ceil(value);
  case Op::trunc:
    return std::trunc(value);
  default:
    return std::round(value);
  }
}

// Functions with a slope of at most about 1 (erf: 2 / sqrt(pi)).
Number smooth_function(Op op, Scalar scalar, const Number &a) {
  if (std::fabs(a.real) > 1e6)
    return Number::no_value();
  double value = op == Op::sin    ? std::sin(a.real)
                 : op == Op::cos  ? std::cos(a.real)
                 : op == Op::tanh ? std::tanh(a.real)
                                  : std::erf(a.real);
  return real_result(scalar, value, 1.13 * a.error + 0x1p-20 * std::fabs(value), false);
}

// Functions that the hardware approximates: relative error 2^-20; for `exp`, plus the effect of a
// rounded argument.
Number function(Op op, Scalar scalar, const Number &a) {
  constexpr double accuracy = 0x1p-20;
  if (op >= Op::floor && op <= Op::round) {
    double low = rounded(op, a.real - a.error), high = rounded(op, a.real + a.error);
    return low == high ? Number::of_real(low) : Number::no_value();
  }
  if (op >= Op::sin && op <= Op::erf)
    return smooth_function(op, scalar, a);
  if (op == Op::sqrt) {
    if (a.real - a.error < 0 || std::isinf(a.real))
      return Number::no_value();
    double root = std::sqrt(a.real);
    bool is_exact = std::fma(root, root, -a.real) == 0;
    double least = std::sqrt(a.real - a.error), most = std::sqrt(a.real + a.error);
    return real_result(scalar, root, a.error == 0 ? 0 : std::max(root - least, most - root),
                       is_exact);
  }
  if (op == Op::rsqrt) {
    double least = a.real - a.error;
    if (!(least > 0) || std::isinf(a.real))
      return Number::no_value();
    double value = 1 / std::sqrt(a.real);
    return real_result(scalar, value, 1 / std::sqrt(least) - value + accuracy * value, false);
  }
  if (op == Op::exp || op == Op::exp2) {
    auto power = [&](double x) { return op == Op::exp ? std::exp(x) : std::exp2(x); };
    double value = power(a.real), most = power(a.real + a.error);
    if (std::isinf(a.real) && a.real < 0)
      return Number::of_real(0);
    return real_result(scalar, value, (most - value) + most * accuracy * (1 + std::fabs(a.real)),
                       false);
  }
  if (!(a.real - a.error > 0) || std::isinf(a.real))
    return Number::no_value();
  auto logarithm = [&](double x) { return op == Op::log ? std::log(x) : std::log2(x); };
  double value = logarithm(a.real);
  return real_result(scalar, value,
                     value - logarithm(a.real - a.error) + accuracy * (1 + std::fabs(value)),
                     false);
}

} // namespace

int lowest_digit(double value) {
  if (value == 0 || !std::isfinite(value))
    return 1 << 20;
  int exponent;
  double fraction = std::frexp(std::fabs(value), &exponent);
  return exponent - 53 + std::countr_zero(uint64_t(std::ldexp(fraction, 53)));
}

bool is_representable(Scalar scalar, double value) {
  if (value == 0 || std::isinf(value))
    return true;
  switch (scalar) {
  case Scalar::double_:
    return true;
  case Scalar::float_:
    return double(float(value)) == value;
  default: {
    int top = std::ilogb(value), least = scalar == Scalar::e4m3       ? -6
                                         : scalar == Scalar::bfloat16 ? -126
                                                                      : -14;
    return std::fabs(value) <= largest_float(scalar) &&
           lowest_digit(value) > std::max(top, least) - precision_of(scalar);
  }
  }
}

Number binary(Op op, Scalar scalar, const Number &a, const Number &b) {
  // One operand alone may determine the result.
  if (op == Op::logical_and || (op == Op::bit_and && is_integer(scalar)))
    for (const Number *one : {&a, &b})
      if (!one->poison && one->integer == 0)
        return *one;
  if (op == Op::logical_or)
    for (const Number *one : {&a, &b})
      if (!one->poison && one->integer != 0)
        return *one;
  if (a.poison || b.poison)
    return Number::no_value();
  return is_float(scalar) ? real_binary(op, scalar, a, b)
                          : integer_binary(op, scalar, a.integer, b.integer);
}

Number unary(Op op, Scalar scalar, const Number &a) {
  if (a.poison)
    return a;
  if (op == Op::bit_not)
    return Number::of_integer(wrapped(scalar, ~wide(scalar, a.integer)));
  if (op == Op::logical_not)
    return Number::of_integer(!a.integer);
  if (is_integer(scalar)) {
    Wide value = wide(scalar, a.integer);
    return op == Op::abs && value >= 0 ? a : integer_result(scalar, -value);
  }
  if (op == Op::negate)
    return {0, -a.real, a.error};
  if (op == Op::abs)
    return {0, std::fabs(a.real), a.error};
  return function(op, scalar, a);
}

Number multiplied_and_added(Scalar scalar, const Number &a, const Number &b, const Number &c) {
  if (a.poison || b.poison || c.poison)
    return Number::no_value();
  // In double, the product of two floats is exact. A product of two doubles is exact or poison.
  Number product = real_product(Scalar::double_, a, b);
  return product.poison ? product : real_sum(scalar, product, c, 1);
}

Number converted(Scalar from, Scalar to, const Number &a) {
  if (a.poison || from == to)
    return a;
  if (is_integer(from) && is_integer(to))
    return Number::of_integer(wrapped(to, wide(from, a.integer)));
  if (is_integer(from)) {
    Wide value = wide(from, a.integer);
    double real = double(value);
    return real_result(to, real, 0, Wide(real) == value);
  }
  if (is_float(to))
    return real_result(to, a.real, a.error, true);
  if (to == Scalar::bool_)
    return a.error != 0 && std::fabs(a.real) <= a.error ? Number::no_value()
                                                        : Number::of_integer(a.real != 0);
  double low = std::trunc(a.real - a.error), high = std::trunc(a.real + a.error);
  if (low != high || low < least(to) || !(low < std::ldexp(1.0, bits_of(to) - is_signed(to))))
    return Number::no_value();
  return Number::of_integer(int64_t(Wide(low)));
}

// Poison for a zero, whose sign is open, and for a rounded value.
Number bits_as(Scalar from, Scalar to, const Number &a) {
  if (a.poison || from == to)
    return a;
  if (is_float(from) && (a.real == 0 || a.error != 0))
    return Number::no_value();
  std::vector<uint8_t> bytes;
  append_bytes(from, {a.integer, a.real}, bytes);
  DataValue value = from_bytes(to, bytes.data());
  if (!is_float(to))
    return Number::of_integer(value.integer);
  return std::isnan(value.real) || (value.real != 0 && std::fabs(value.real) < 0x1p-14)
             ? Number::no_value()
             : Number::of_real(value.real);
}

Number rounded_to_tf32(const Number &a) {
  bool is_exact = a.real == 0 || lowest_digit(a.real) > std::ilogb(a.real) - 11;
  if (a.poison || (is_exact && a.error == 0))
    return a;
  return {0, a.real, a.error + (std::fabs(a.real) + a.error) * 0x1p-10};
}

void Product::multiply(const Number &factor) {
  poison_ |= factor.poison;
  if (!is_float(scalar_)) {
    integer_ *= uint64_t(factor.integer);
    largest_ *= std::max(std::fabs(double(wide(scalar_, factor.integer))), 1.0);
    return;
  }
  double magnitude = std::fabs(factor.real);
  largest_ *= std::max(magnitude + factor.error, 1.0);
  if (magnitude > 0) {
    least_ *= std::min(magnitude, 1.0);
    digits_ *= std::ldexp(magnitude, -lowest_digit(magnitude));
  }
  product_ = binary(Op::mul, Scalar::double_, product_, factor);
}

Number Product::result() const {
  if (poison_ || product_.poison)
    return Number::no_value();
  if (!is_float(scalar_)) { // small types are added without promotion
    bool may_overflow = is_signed(scalar_) && bits_of(scalar_) >= 32;
    return may_overflow && largest_ > largest(scalar_)
               ? Number::no_value()
               : Number::of_integer(wrapped(scalar_, Wide(int64_t(integer_))));
  }
  // In any order, every partial product lies between these bounds and has at most these digits.
  if (largest_ > std::min(largest_float(scalar_), 0x1p40) || least_ < 0x1p-10)
    return Number::no_value();
  bool is_exact = product_.error == 0 && digits_ <= std::ldexp(1, precision_of(scalar_));
  if (is_exact)
    return product_;
  return {0, product_.real, 2 * product_.error + 64 * unit(scalar_) * largest_};
}

void Sum::add_real(double value, double error, int lowest) {
  real_ += value;
  magnitude_ += std::fabs(value) + error;
  error_ += error;
  lowest_ = std::min(lowest_, lowest);
}

void Sum::add(const Number &term) {
  terms_++;
  poison_ |= term.poison;
  if (is_float(scalar_))
    return add_real(term.real, term.error, lowest_digit(term.real));
  integer_ += wide(scalar_, term.integer);
  overflows_ |= is_signed(scalar_) && integer_result(scalar_, integer_).poison;
}

void Sum::add_product(const Number &a, const Number &b, int lowest) {
  terms_++;
  poison_ |= a.poison || b.poison;
  double error = a.error == 0 && b.error == 0 ? 0
                                              : std::fabs(a.real) * b.error +
                                                    std::fabs(b.real) * a.error + a.error * b.error;
  add_real(a.real * b.real, error, lowest);
}

Number Sum::result() const {
  if (poison_)
    return Number::no_value();
  if (!is_float(scalar_)) {
    // Small integer types wrap; a sum of larger types must not overflow.
    bool is_small = bits_of(scalar_) < 32;
    return overflows_ && !is_small ? Number::no_value()
                                   : Number::of_integer(wrapped(scalar_, integer_));
  }
  if (!std::isfinite(magnitude_))
    return std::isinf(real_) && error_ == 0 ? Number::of_real(real_) : Number::no_value();
  // Every partial sum is a multiple of the lowest bit and at most the sum of magnitudes.
  bool is_exact = error_ == 0 &&
                  magnitude_ <= std::ldexp(1.0, precision_of(scalar_) + std::min(lowest_, 900)) &&
                  magnitude_ <= largest_float(scalar_);
  Number result = Number::of_real(real_);
  result.roundings = double(terms_ + 1) * slack_;
  result.magnitude = magnitude_;
  result.lowest = lowest_;
  if (is_exact)
    return result;
  if (magnitude_ > largest_float(scalar_))
    return Number::no_value();
  double rounding = result.roundings * unit(scalar_) * magnitude_;
  result.error = error_ + rounding + min_step(scalar_) * double(terms_);
  return result;
}

} // namespace tritonc::random
