// The reference for the language's operators. See numbers.h.

#include "numbers.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace table {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

constexpr std::array<TypeInfo, type_count> infos = {{
    {"bool", 8, false, false, 0, 0, 0},
    {"int8", 8, false, true, 0, 0, 0},
    {"uint8", 8, false, false, 0, 0, 0},
    {"int16", 16, false, true, 0, 0, 0},
    {"uint16", 16, false, false, 0, 0, 0},
    {"int32", 32, false, true, 0, 0, 0},
    {"uint32", 32, false, false, 0, 0, 0},
    {"int64", 64, false, true, 0, 0, 0},
    {"uint64", 64, false, false, 0, 0, 0},
    {"e4m3", 8, true, true, 4, -6, 448},
    {"e5m2", 8, true, true, 3, -14, 57344},
    {"half", 16, true, true, 11, -14, 65504},
    {"bfloat16", 16, true, true, 8, -126, 0x1.fep127},
    {"float", 32, true, true, 24, -126, 0x1.fffffep127},
    {"double", 64, true, true, 53, -1022, 0x1.fffffffffffffp1023},
}};

// The integer value of these bits in the type.
int64_t wrapped(Type type, uint64_t bits) {
  int unused = 64 - info(type).bits;
  if (type == Type::bool_)
    return (bits & 1) != 0;
  return info(type).is_signed ? int64_t(bits << unused) >> unused
                              : int64_t(bits << unused >> unused);
}

using Wide = __int128;

Wide wide(Type type, int64_t integer) {
  return info(type).is_signed ? Wide(integer) : Wide(uint64_t(integer));
}

// The result of an operation: known if the value fits the type, or the type is unsigned.
Number fitted(Type type, Wide value) {
  Number result = of_integer(wrapped(type, uint64_t(value)));
  result.known = !info(type).is_signed || wide(type, result.integer) == value;
  return result;
}

Number float_binary(const std::string &op, Type type, double a, double b) {
  if (op == "+")
    return of_real(rounded(type, a + b));
  if (op == "-")
    return of_real(rounded(type, a - b));
  if (op == "*")
    return of_real(rounded(type, a * b));
  if (op == "/")
    return of_real(rounded(type, a / b));
  if (op == "min")
    return of_real(std::isnan(a) ? b : std::isnan(b) ? a : a < b ? a : b);
  if (op == "max")
    return of_real(std::isnan(a) ? b : std::isnan(b) ? a : a > b ? a : b);
  if (op == "<")
    return of_integer(a < b);
  if (op == "<=")
    return of_integer(a <= b);
  if (op == ">")
    return of_integer(a > b);
  if (op == ">=")
    return of_integer(a >= b);
  if (op == "==")
    return of_integer(a == b);
  return of_integer(!(a == b)); // !=
}

} // namespace

const TypeInfo &info(Type type) { return infos[size_t(type)]; }

Number of_integer(int64_t integer) { return {0, integer, true}; }
Number of_real(double real) { return {real, 0, true}; }
Number unknown() { return {0, 0, false}; }

double rounded(Type type, double number) {
  const TypeInfo &format = info(type);
  if (type == Type::double_ || std::isnan(number) || number == 0)
    return number;
  double size = std::fabs(number);
  int exponent = std::isinf(number) ? 0 : std::max(std::ilogb(number), format.least);
  double place = std::ldexp(1, exponent - (format.digits - 1));
  double result = std::isinf(number) ? size : std::nearbyint(size / place) * place;
  if (result > format.largest)
    result = is_small_float(type) ? format.largest : infinity;
  return std::copysign(result, number);
}

namespace {

double read_small(Type type, uint64_t bits) {
  const TypeInfo &format = info(type);
  int fraction_bits = format.digits - 1, all = format.bits;
  uint64_t fraction = bits & ((uint64_t(1) << fraction_bits) - 1);
  int exponent_bits = all - 1 - fraction_bits;
  uint64_t exponent = bits >> fraction_bits & ((uint64_t(1) << exponent_bits) - 1);
  double sign = bits >> (all - 1) & 1 ? -1 : 1;
  bool is_top = exponent == (uint64_t(1) << exponent_bits) - 1;
  if (type == Type::e4m3 ? is_top && fraction == 7 : is_top && fraction != 0)
    return nothing;
  if (is_top && type != Type::e4m3)
    return sign * infinity;
  int place = format.least - fraction_bits;
  if (exponent == 0)
    return sign * std::ldexp(double(fraction), place);
  return sign *
         std::ldexp(double(fraction + (uint64_t(1) << fraction_bits)), place + int(exponent) - 1);
}

uint64_t write_small(Type type, double number) {
  const TypeInfo &format = info(type);
  int fraction_bits = format.digits - 1, exponent_bits = format.bits - 1 - fraction_bits;
  uint64_t sign = std::signbit(number) ? uint64_t(1) << (format.bits - 1) : 0;
  uint64_t top = ((uint64_t(1) << exponent_bits) - 1) << fraction_bits;
  if (std::isnan(number))
    return type == Type::e4m3 ? 0x7f : top | uint64_t(1) << (fraction_bits - 1);
  if (std::isinf(number))
    return sign | top;
  double size = std::fabs(number);
  if (size == 0)
    return sign;
  int exponent = std::ilogb(size);
  if (exponent < format.least)
    return sign | uint64_t(std::ldexp(size, fraction_bits - format.least));
  auto fraction =
      uint64_t(std::ldexp(size, fraction_bits - exponent)) - (uint64_t(1) << fraction_bits);
  return sign | uint64_t(exponent - format.least + 1) << fraction_bits | fraction;
}

template <typename T> T at(const void *memory) {
  T value;
  std::memcpy(&value, memory, sizeof value);
  return value;
}

} // namespace

Number read(Type type, const void *memory) {
  uint64_t bits = 0;
  std::memcpy(&bits, memory, size_t(bytes_of(type)));
  if (!is_float(type))
    return of_integer(type == Type::bool_ ? int64_t(bits) : wrapped(type, bits));
  if (type == Type::double_)
    return of_real(at<double>(memory));
  if (type == Type::float_)
    return of_real(double(at<float>(memory)));
  return of_real(read_small(type, bits));
}

void write(Type type, const Number &number, void *memory) {
  if (type == Type::double_) {
    std::memcpy(memory, &number.real, 8);
  } else if (type == Type::float_) {
    auto narrow = float(number.real);
    std::memcpy(memory, &narrow, 4);
  } else {
    uint64_t bits = is_float(type) ? write_small(type, number.real) : uint64_t(number.integer);
    std::memcpy(memory, &bits, size_t(bytes_of(type)));
  }
}

bool same(Type type, const Number &a, const Number &b) {
  if (is_float(type))
    return a.real == b.real || (std::isnan(a.real) && std::isnan(b.real));
  return a.integer == b.integer;
}

std::string text_of(Type type, const Number &number) {
  char text[64];
  if (is_float(type))
    std::snprintf(text, sizeof text, "%.17g", number.real);
  else if (info(type).is_signed)
    std::snprintf(text, sizeof text, "%lld", (long long)number.integer);
  else
    std::snprintf(text, sizeof text, "%llu", (unsigned long long)number.integer);
  return text;
}

Type promoted(Type type) {
  if (is_small_float(type))
    return Type::float_;
  return type < Type::int32 ? Type::int32 : type;
}

Type common(Type a, Type b) {
  if (a != b && (a == Type::half || a == Type::bfloat16) &&
      (b == Type::half || b == Type::bfloat16))
    return Type::float_;
  return std::max(promoted(a), promoted(b));
}

Number convert(Type from, Type to, const Number &number) {
  if (!number.known)
    return unknown();
  if (to == Type::bool_)
    return of_integer(is_true(from, number));
  if (is_float(from) && is_float(to))
    return of_real(rounded(to, number.real));
  if (is_float(from)) {
    double whole = std::trunc(number.real);
    double most = std::ldexp(1, info(to).bits - (info(to).is_signed ? 1 : 0));
    double least = info(to).is_signed ? -most : 0;
    if (!(whole >= least && whole < most))
      return unknown();
    return of_integer(info(to).is_signed ? int64_t(whole) : int64_t(uint64_t(whole)));
  }
  if (!is_float(to))
    return of_integer(wrapped(to, uint64_t(number.integer)));
  // A 64-bit integer has more digits than a double; a long double has enough.
  long double exact = (long double)wide(from, number.integer);
  if (to == Type::double_)
    return of_real(double(exact));
  if (to == Type::float_)
    return of_real(double(float(exact)));
  // Rounds to odd first, so the second rounding knows the side of a tie.
  double toward_zero = double(exact);
  if ((long double)toward_zero != exact) {
    if (std::fabs((long double)toward_zero) > std::fabs(exact))
      toward_zero = std::nextafter(toward_zero, 0.0);
    auto bits = at<uint64_t>(&toward_zero) | 1;
    toward_zero = at<double>(&bits);
  }
  return of_real(rounded(to, toward_zero));
}

bool is_true(Type type, const Number &number) {
  return is_float(type) ? !(number.real == 0) : number.integer != 0;
}

Number binary(const std::string &op, Type type, const Number &a, const Number &b) {
  if (!a.known || !b.known)
    return unknown();
  if (is_float(type))
    return float_binary(op, type, a.real, b.real);
  Wide x = wide(type, a.integer), y = wide(type, b.integer);
  if (op == "+")
    return fitted(type, x + y);
  if (op == "-")
    return fitted(type, x - y);
  if (op == "*")
    return fitted(type, info(type).is_signed ? x * y : Wide(uint64_t(x) * uint64_t(y)));
  if ((op == "/" || op == "%") && y == 0)
    return unknown();
  if (op == "/")
    return fitted(type, x / y);
  if (op == "%") {
    Number result = fitted(type, x % y);
    result.known = fitted(type, x / y).known;
    return result;
  }
  if (op == "<<" || op == ">>") {
    if (y < 0 || y >= info(type).bits)
      return unknown();
    if (op == ">>")
      return of_integer(wrapped(type, uint64_t(x >> int(y))));
    Number result = fitted(type, Wide(uint64_t(x)) << int(y));
    result.known = !info(type).is_signed || (x >= 0 && fitted(type, x << int(y)).known);
    return result;
  }
  if (op == "&")
    return of_integer(wrapped(type, uint64_t(x) & uint64_t(y)));
  if (op == "|")
    return of_integer(wrapped(type, uint64_t(x) | uint64_t(y)));
  if (op == "^")
    return of_integer(wrapped(type, uint64_t(x) ^ uint64_t(y)));
  if (op == "min")
    return of_integer(x < y ? a.integer : b.integer);
  if (op == "max")
    return of_integer(x > y ? a.integer : b.integer);
  if (op == "<")
    return of_integer(x < y);
  if (op == "<=")
    return of_integer(x <= y);
  if (op == ">")
    return of_integer(x > y);
  if (op == ">=")
    return of_integer(x >= y);
  return of_integer((x == y) == (op == "=="));
}

Number unary(const std::string &op, Type type, const Number &a) {
  if (!a.known)
    return unknown();
  if (is_float(type))
    return of_real(op == "-" ? -a.real : op == "abs" ? std::fabs(a.real) : a.real);
  Wide x = wide(type, a.integer);
  if (op == "~")
    return of_integer(wrapped(type, ~uint64_t(x)));
  return op == "-" || (op == "abs" && x < 0) ? fitted(type, -x) : a;
}

} // namespace table
