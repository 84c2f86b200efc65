// Implements arithmetic on single elements. See arithmetic.h.
//
// Tested by tests/interpreter/arithmetic_test.cpp.

#include "interpreter/arithmetic.h"
#include "interpreter/machine.h"
#include "interpreter/numbers.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tritonc::interpreter {

using namespace ir;

namespace {

double binary_number(Opcode code, double x, double y) {
  switch (code) {
  case Opcode::add_:
    return x + y;
  case Opcode::sub_:
    return x - y;
  case Opcode::mul_:
    return x * y;
  case Opcode::div_:
    return x / y;
  case Opcode::rem_:
    return std::fmod(x, y);
  case Opcode::pow_:
    return std::pow(x, y);
  case Opcode::min_:
  case Opcode::umin_:
    return std::fmin(x, y);
  default:
    return std::fmax(x, y);
  }
}

double function_of(Opcode code, double x) {
  switch (code) {
  case Opcode::exp_:
    return std::exp(x);
  case Opcode::log_:
    return std::log(x);
  case Opcode::exp2_:
    return std::exp2(x);
  case Opcode::log2_:
    return std::log2(x);
  case Opcode::rsqrt_:
    return 1 / std::sqrt(x);
  case Opcode::sin_:
    return std::sin(x);
  case Opcode::cos_:
    return std::cos(x);
  case Opcode::tanh_:
    return std::tanh(x);
  case Opcode::erf_:
    return std::erf(x);
  case Opcode::floor_:
    return std::floor(x);
  case Opcode::ceil_:
    return std::ceil(x);
  case Opcode::round_:
    return std::round(x);
  case Opcode::trunc_:
    return std::trunc(x);
  default:
    return std::sqrt(x);
  }
}

// Whether the result is one of the operands. Such an operation keeps an infinity, even for types
// whose arithmetic saturates.
bool chooses(Opcode code) {
  return code == Opcode::min_ || code == Opcode::max_ || code == Opcode::umin_ ||
         code == Opcode::umax_;
}

// Returns nullopt if the result is undefined.
std::optional<int64_t> quotient(Opcode code, Elem elem, int64_t a, int64_t b) {
  uint64_t x = as_unsigned(elem, a), y = as_unsigned(elem, b);
  bool is_signed = code == Opcode::div_ || code == Opcode::rem_;
  int64_t least = wrapped(elem, int64_t(uint64_t(1) << (ir::bits_of(elem) - 1)));
  if (b == 0 || (is_signed && a == least && b == -1))
    return std::nullopt;
  switch (code) {
  case Opcode::div_:
    return a / b;
  case Opcode::rem_:
    return a % b;
  case Opcode::udiv_:
    return int64_t(x / y);
  default:
    return int64_t(x % y);
  }
}

std::optional<int64_t> shifted(Opcode code, Elem elem, int64_t a, int64_t by) {
  if (as_unsigned(elem, by) >= uint64_t(ir::bits_of(elem)))
    return std::nullopt;
  if (code == Opcode::shl_)
    return int64_t(uint64_t(a) << by);
  return code == Opcode::shr_ ? a >> by : int64_t(as_unsigned(elem, a) >> by);
}

std::optional<int64_t> binary_integer(Opcode code, Elem elem, int64_t a, int64_t b) {
  switch (code) {
  case Opcode::add_:
    return int64_t(uint64_t(a) + uint64_t(b));
  case Opcode::sub_:
    return int64_t(uint64_t(a) - uint64_t(b));
  case Opcode::mul_:
    return int64_t(uint64_t(a) * uint64_t(b));
  case Opcode::min_:
    return std::min(a, b);
  case Opcode::max_:
    return std::max(a, b);
  case Opcode::umin_:
    return as_unsigned(elem, a) < as_unsigned(elem, b) ? a : b;
  case Opcode::umax_:
    return as_unsigned(elem, a) > as_unsigned(elem, b) ? a : b;
  case Opcode::and_:
    return a & b;
  case Opcode::or_:
    return a | b;
  case Opcode::xor_:
    return a ^ b;
  case Opcode::shl_:
  case Opcode::shr_:
  case Opcode::ushr_:
    return shifted(code, elem, a, b);
  default:
    return quotient(code, elem, a, b);
  }
}

// Whether `a` alone determines the result of `and` or `or`.
bool decides(Opcode code, Elem elem, const Element &a) {
  if (a.poison || is_float(elem))
    return false;
  return (code == Opcode::and_ && a.integer == 0) ||
         (code == Opcode::or_ && a.integer == wrapped(elem, -1));
}

template <typename T> bool holds(std::string_view pred, T x, T y) {
  if (pred == "eq")
    return x == y;
  if (pred == "ne")
    return x != y;
  if (pred == "lt" || pred == "ult")
    return x < y;
  if (pred == "le" || pred == "ule")
    return x <= y;
  if (pred == "gt" || pred == "ugt")
    return x > y;
  return x >= y;
}

Element number_to_integer(Elem to, bool is_unsigned, double value) {
  if (to == Elem::i1)
    return Element::of_integer(value != 0);
  int bits = ir::bits_of(to);
  double end = std::ldexp(1.0, is_unsigned ? bits : bits - 1);
  double whole = std::trunc(value);
  if (!(whole >= (is_unsigned ? 0 : -end) && whole < end)) // negated, so that it also rejects NaN
    return Element::no_value();
  return Element::of_integer(wrapped(to, is_unsigned ? int64_t(uint64_t(whole)) : int64_t(whole)));
}

// A pointer as an integer: buffers are 2^40 bytes apart, so that an out-of-bounds pointer does not
// reach another buffer.
constexpr int64_t distance = int64_t(1) << 40;

int64_t address_of(Elem elem, const Element &pointer) {
  return (pointer.buffer + 1) * distance + distance / 2 + pointer.integer * bytes_of(elem);
}

Element pointer_to(Elem elem, int64_t address) {
  int64_t bytes = (address & (distance - 1)) - distance / 2;
  Element pointer = Element::pointer(int(address / distance) - 1, bytes / bytes_of(elem));
  pointer.recast = true;
  return pointer;
}

} // namespace

Element binary(Opcode code, Elem elem, const Element &a, const Element &b) {
  for (const Element *one : {&a, &b})
    if (decides(code, elem, *one))
      return *one;
  if (a.poison || b.poison)
    return Element::no_value();
  if (is_float(elem)) {
    double result = binary_number(code, a.number, b.number);
    return Element::of_number(chooses(code) ? result : rounded(elem, result));
  }
  std::optional<int64_t> result = binary_integer(code, elem, a.integer, b.integer);
  return result ? Element::of_integer(wrapped(elem, *result)) : Element::no_value();
}

Element unary(Opcode code, Elem elem, const Element &a) {
  if (a.poison)
    return a;
  if (is_integer(elem)) {
    int64_t negative = wrapped(elem, int64_t(0 - uint64_t(a.integer)));
    return Element::of_integer(code == Opcode::abs_ && a.integer >= 0 ? a.integer : negative);
  }
  double x = a.number;
  if (code == Opcode::neg_ || code == Opcode::abs_) // only the sign changes
    return Element::of_number(code == Opcode::neg_ ? -x : std::fabs(x));
  return Element::of_number(rounded(elem, function_of(code, x)));
}

Element fma(Elem elem, const Element &a, const Element &b, const Element &c) {
  if (a.poison || b.poison || c.poison)
    return Element::no_value();
  double result = elem == Elem::f32
                      ? double(std::fma(float(a.number), float(b.number), float(c.number)))
                      : std::fma(a.number, b.number, c.number);
  return Element::of_number(rounded(elem, result));
}

Element compare(std::string_view pred, const Type &type, const Element &a, const Element &b) {
  if (a.poison || b.poison)
    return Element::no_value();
  bool result;
  if (type.is_pointer())
    result = holds(pred, address_of(type.elem, a), address_of(type.elem, b));
  else if (is_float(type.elem))
    result = holds(pred, a.number, b.number);
  else if (pred.starts_with("u"))
    result = holds(pred, as_unsigned(type.elem, a.integer), as_unsigned(type.elem, b.integer));
  else
    result = holds(pred, a.integer, b.integer);
  return Element::of_integer(result);
}

Element convert(Elem from, Elem to, bool is_unsigned, const Element &a) {
  if (a.poison)
    return a;
  if (is_float(from))
    return is_float(to) ? Element::of_number(rounded(to, a.number))
                        : number_to_integer(to, is_unsigned, a.number);
  if (to == Elem::i1)
    return Element::of_integer(a.integer != 0);
  is_unsigned |= from == Elem::i1;
  int64_t value = is_unsigned ? int64_t(as_unsigned(from, a.integer)) : a.integer;
  return is_float(to) ? Element::of_number(rounded_integer(to, value, is_unsigned))
                      : Element::of_integer(wrapped(to, value));
}

Element reinterpret(const Type &from, const Type &to, const Element &a) {
  if (a.poison)
    return a;
  uint64_t bits = from.is_pointer() ? uint64_t(address_of(from.elem, a)) : bits_of(from.elem, a);
  return to.is_pointer() ? pointer_to(to.elem, int64_t(bits)) : from_bits(to.elem, bits);
}

namespace {

// Whether the third operand of a division gives its quotient.
bool is_reciprocal(Opcode code, const Element &a, const Element &b, const Element &reciprocal) {
  if (a.poison || b.poison || reciprocal.poison || b.integer == 0)
    return true; // no value in any case
  const bool is_signed = code == Opcode::div_ || code == Opcode::rem_;
  const uint64_t divisor =
      is_signed ? uint64_t(std::abs(b.integer)) : as_unsigned(Elem::i32, b.integer);
  const auto product = static_cast<unsigned __int128>(a.integer) *
                       static_cast<unsigned __int128>(reciprocal.integer);
  return a.integer >= 0 && uint64_t(product >> 62) == uint64_t(a.integer) / divisor;
}

} // namespace

void Machine::elementwise(const Op &op) {
  const Type &to = op.result()->type;
  std::string_view pred = op.get(attr::pred_);
  bool is_unsigned = op.has(attr::unsigned_);
  std::vector<const Tile *> operands;
  for (const Value *operand : op.operands)
    operands.push_back(&tile(operand));
  auto element = [&](size_t operand, size_t i) -> const Element & {
    const Tile &elements = *operands[operand];
    return elements[elements.size() == 1 ? 0 : i]; // the scalar condition of a select
  };
  define(op, [&](size_t i) {
    const Element &a = element(0, i);
    switch (op.code) {
    case Opcode::cmp_:
      return compare(pred, op.operand(0)->type, a, element(1, i));
    case Opcode::select_:
      return a.poison ? a : element(a.integer ? 1 : 2, i);
    case Opcode::cast_:
      return convert(op.operand(0)->type.elem, to.elem, is_unsigned, a);
    case Opcode::bitcast_:
      return reinterpret(op.operand(0)->type, to, a);
    case Opcode::addptr_: {
      const Element &b = element(1, i);
      Element pointer = a;
      pointer.integer += b.integer;
      return a.poison || b.poison ? Element::no_value() : pointer;
    }
    case Opcode::fma_:
      return fma(to.elem, a, element(1, i), element(2, i));
    case Opcode::div_:
    case Opcode::udiv_:
    case Opcode::rem_:
    case Opcode::urem_:
      if (op.operands.size() == 3 && !is_reciprocal(op.code, a, element(1, i), element(2, i)))
        return Element::no_value();
      return binary(op.code, to.elem, a, element(1, i));
    default:
      return op.operands.size() == 1 ? unary(op.code, to.elem, a)
                                     : binary(op.code, to.elem, a, element(1, i));
    }
  });
}

} // namespace tritonc::interpreter
