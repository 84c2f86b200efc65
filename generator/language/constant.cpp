// Evaluates constant expressions. See constant.h.
//
// Tested by tests/unit/language/constant_test.cpp.

#include "language/constant.h"

#include <algorithm>

namespace tritonc::ast {
namespace {

using Kind = Expr::Kind;

// Truncates `value` to `scalar`.
int64_t wrap(uint64_t value, Scalar scalar) {
  if (scalar == Scalar::bool_)
    return value != 0;
  int unused = 64 - bits_of(scalar);
  if (is_unsigned(scalar))
    return int64_t(value << unused >> unused);
  return int64_t(value << unused) >> unused;
}

template <typename T> bool compare(Operator op, T a, T b) {
  switch (op) {
  case Operator::less:
    return a < b;
  case Operator::less_equal:
    return a <= b;
  case Operator::greater:
    return a > b;
  case Operator::greater_equal:
    return a >= b;
  case Operator::equal:
    return a == b;
  default:
    return a != b;
  }
}

// Both operands have the type `scalar`. Returns nullopt for a division by zero and for a shift by
// the bit width or more.
std::optional<int64_t> arithmetic(Operator op, uint64_t a, uint64_t b, Scalar scalar) {
  bool is_signed = !is_unsigned(scalar);
  bool overflows = is_signed && int64_t(b) == -1; // INT_MIN / -1
  switch (op) {
  case Operator::add:
    return a + b;
  case Operator::subtract:
    return a - b;
  case Operator::multiply:
    return a * b;
  case Operator::divide:
    if (b == 0)
      return std::nullopt;
    if (overflows)
      return -a;
    return is_signed ? int64_t(a) / int64_t(b) : int64_t(a / b);
  case Operator::remainder:
    if (b == 0)
      return std::nullopt;
    if (overflows)
      return 0;
    return is_signed ? int64_t(a) % int64_t(b) : int64_t(a % b);
  case Operator::shift_left:
    return b < uint64_t(bits_of(scalar)) ? std::optional<int64_t>(a << b) : std::nullopt;
  case Operator::shift_right:
    if (b >= uint64_t(bits_of(scalar)))
      return std::nullopt;
    return is_signed ? int64_t(a) >> b : int64_t(a >> b);
  case Operator::bit_and:
    return a & b;
  case Operator::bit_xor:
    return a ^ b;
  case Operator::bit_or:
    return a | b;
  case Operator::logical_and:
    return a && b;
  case Operator::logical_or:
    return a || b;
  default:
    return is_signed ? compare(op, int64_t(a), int64_t(b)) : compare(op, a, b);
  }
}

std::optional<int64_t> binary(const Expr &expr) {
  std::optional<int64_t> a = constant_integer(*expr.operands[0]);
  std::optional<int64_t> b = constant_integer(*expr.operands[1]);
  if (!a || !b)
    return std::nullopt;
  std::optional<int64_t> value =
      arithmetic(expr.op, uint64_t(*a), uint64_t(*b), expr.operands[0]->type.scalar);
  return value ? std::optional(wrap(uint64_t(*value), expr.type.scalar)) : std::nullopt;
}

std::optional<int64_t> unary(const Expr &expr) {
  std::optional<int64_t> a = constant_integer(*expr.operands[0]);
  if (!a)
    return std::nullopt;
  uint64_t value = uint64_t(*a);
  switch (expr.op) {
  case Operator::minus:
    value = -value;
    break;
  case Operator::bit_not:
    value = ~value;
    break;
  case Operator::logical_not:
    value = !value;
    break;
  default:
    break;
  }
  return wrap(value, expr.type.scalar);
}

std::optional<int64_t> call(const Expr &expr) {
  bool is_min = expr.text == "min";
  if (expr.operands.size() != 2 || (!is_min && expr.text != "max"))
    return std::nullopt;
  std::optional<int64_t> a = constant_integer(*expr.operands[0]);
  std::optional<int64_t> b = constant_integer(*expr.operands[1]);
  if (!a || !b)
    return std::nullopt;
  bool is_less = is_unsigned(expr.type.scalar) ? uint64_t(*a) < uint64_t(*b) : *a < *b;
  return is_less == is_min ? a : b;
}

} // namespace

std::optional<int64_t> constant_integer(const Expr &expr) {
  if (!expr.type.is_integer() || expr.type.is_tile())
    return std::nullopt;
  switch (expr.kind) {
  case Kind::integer:
  case Kind::boolean:
    return wrap(expr.integer, expr.type.scalar);
  case Kind::unary:
    return unary(expr);
  case Kind::binary:
    return binary(expr);
  case Kind::call:
    return call(expr);
  case Kind::conditional:
    if (std::optional<int64_t> condition = constant_integer(*expr.operands[0]))
      return constant_integer(*expr.operands[*condition ? 1 : 2]);
    return std::nullopt;
  case Kind::cast:
  case Kind::convert:
    if (std::optional<int64_t> value = constant_integer(*expr.operands[0]))
      return wrap(uint64_t(*value), expr.type.scalar);
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<double> constant_real(const Expr &expr) {
  if (expr.is(Kind::real))
    return expr.real;
  if (expr.type.is_tile() || !expr.type.is_float())
    return std::nullopt;
  if (expr.is(Kind::unary) && expr.op == Operator::minus) {
    std::optional<double> value = constant_real(*expr.operands[0]);
    return value ? std::optional(-*value) : std::nullopt;
  }
  bool is_conversion = expr.is(Kind::convert) || expr.is(Kind::cast);
  if (!is_conversion || (expr.type.scalar != Scalar::float_ && expr.type.scalar != Scalar::double_))
    return std::nullopt;
  const Expr &inner = *expr.operands[0];
  if (std::optional<int64_t> integer = constant_integer(inner)) {
    constexpr int64_t exact = int64_t(1) << 53;
    if (*integer > exact || *integer < -exact)
      return std::nullopt; // avoids double rounding
    double value = is_unsigned(inner.type.scalar) ? double(uint64_t(*integer)) : double(*integer);
    return expr.type.scalar == Scalar::float_ ? double(float(value)) : value;
  }
  std::optional<double> value = constant_real(inner);
  if (value && expr.type.scalar == Scalar::float_)
    value = float(*value);
  return value;
}

} // namespace tritonc::ast
