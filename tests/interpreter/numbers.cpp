// Implements rounding and bit conversion for every element type. See numbers.h.
//
// Tested by tests/interpreter/numbers_test.cpp.

#include "interpreter/numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

namespace tritonc::interpreter {

using namespace ir;

namespace {

// A binary floating-point format smaller than f32.
struct Format {
  int bits;
  int precision;    // significant bits, including the hidden bit
  int min_exponent; // of the smallest normal value
  double largest;
  bool saturates;    // overflow gives the largest finite value instead of infinity
  bool has_infinity; // if false, the highest exponent has finite values and one NaN
};

Format format_of(Elem elem) {
  switch (elem) {
  case Elem::f16:
    return {16, 11, -14, 65504, false, true};
  case Elem::bf16:
    return {16, 8, -126, 0x1.fep127, false, true};
  case Elem::e4m3:
    return {8, 4, -6, 448, true, false};
  default: // e5m2
    return {8, 3, -14, 57344, true, true};
  }
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// The exponent e of a value in [2^e, 2^(e+1)).
int exponent_of(long double magnitude) {
  int exponent;
  std::frexp(magnitude, &exponent);
  return exponent - 1;
}

uint64_t small_bits(const Format &format, double value) {
  uint64_t sign = uint64_t(std::signbit(value)) << (format.bits - 1);
  uint64_t hidden = uint64_t(1) << (format.precision - 1);
  uint64_t highest = (uint64_t(1) << (format.bits - 1)) - hidden; // the highest exponent
  if (std::isnan(value)) // the NaN of the GPU's conversions
    return highest | (hidden - 1);
  if (std::isinf(value))
    return sign | highest;
  double magnitude = std::fabs(value);
  int exponent =
      magnitude == 0 ? format.min_exponent : std::max(exponent_of(magnitude), format.min_exponent);
  uint64_t significand = uint64_t(std::ldexp(magnitude, format.precision - 1 - exponent));
  if (significand < hidden)
    return sign | significand; // zero or subnormal
  return sign | uint64_t(exponent - format.min_exponent + 1) * hidden | (significand - hidden);
}

double small_value(const Format &format, uint64_t bits) {
  uint64_t hidden = uint64_t(1) << (format.precision - 1);
  uint64_t magnitude = bits & ((uint64_t(1) << (format.bits - 1)) - 1);
  uint64_t highest = (uint64_t(1) << (format.bits - 1)) - hidden;
  double sign = bits >> (format.bits - 1) & 1 ? -1 : 1;
  if (format.has_infinity ? magnitude > highest : magnitude == (highest | (hidden - 1)))
    return not_a_number;
  if (format.has_infinity && magnitude == highest)
    return sign * infinity;
  int biased = int(magnitude / hidden);
  uint64_t significand = magnitude % hidden + (biased ? hidden : 0);
  int exponent = format.min_exponent + std::max(biased - 1, 0);
  return sign * std::ldexp(double(significand), exponent - (format.precision - 1));
}

} // namespace

double rounded_to_small(Elem elem, long double value) {
  Format format = format_of(elem);
  long double magnitude = std::fabs(value);
  if (value == 0 || std::isnan(value))
    return double(value);
  if (magnitude <= (1 << format.precision) && magnitude == int(magnitude))
    return double(value); // exact in every format; the usual case in tests
  if (!std::isinf(value)) {
    // The spacing of the format's values, constant for subnormal values.
    int exponent = std::max(exponent_of(magnitude), format.min_exponent);
    long double unit = std::ldexp(1.0L, exponent - (format.precision - 1));
    magnitude = std::nearbyint(magnitude / unit) * unit;
  }
  if (magnitude > format.largest)
    magnitude = format.saturates ? format.largest : infinity;
  return std::copysign(double(magnitude), value < 0 ? -1.0 : 1.0);
}

double rounded_integer(Elem elem, int64_t value, bool is_unsigned) {
  // A long double holds every 64-bit integer.
  long double exact = is_unsigned ? static_cast<long double>(uint64_t(value)) : value;
  if (elem == Elem::f32)
    return float(exact);
  return elem == Elem::f64 ? double(exact) : rounded_to_small(elem, exact);
}

namespace {

// The value of the last of the 11 bits.
double tf32_unit(double value) {
  return std::ldexp(1.0, std::max(exponent_of(std::fabs(value)), -126) - 10);
}

} // namespace

double rounded_to_tf32(double value) {
  if (value == 0 || !std::isfinite(value))
    return value;
  return std::round(value / tf32_unit(value)) * tf32_unit(value);
}

double copied_to_tf32(double value) {
  if (value == 0 || !std::isfinite(value))
    return value;
  return float(std::nearbyint(value / tf32_unit(value)) * tf32_unit(value));
}

int64_t wrapped(Elem elem, int64_t value) {
  switch (elem) {
  case Elem::i1:
    return value & 1;
  case Elem::i8:
    return int8_t(value);
  case Elem::i16:
    return int16_t(value);
  case Elem::i32:
    return int32_t(value);
  default:
    return value;
  }
}

uint64_t as_unsigned(Elem elem, int64_t value) {
  int bits = ir::bits_of(elem);
  return bits == 64 ? uint64_t(value) : uint64_t(value) & ((uint64_t(1) << bits) - 1);
}

uint64_t bits_of(Elem elem, const Element &element) {
  if (is_integer(elem))
    return as_unsigned(elem, element.integer);
  if (elem == Elem::f64)
    return std::bit_cast<uint64_t>(element.number);
  if (elem == Elem::f32)
    return std::bit_cast<uint32_t>(float(element.number));
  return small_bits(format_of(elem), element.number);
}

Element from_bits(Elem elem, uint64_t bits) {
  if (is_integer(elem))
    return Element::of_integer(wrapped(elem, int64_t(bits)));
  if (elem == Elem::f64)
    return Element::of_number(std::bit_cast<double>(bits));
  if (elem == Elem::f32)
    return Element::of_number(std::bit_cast<float>(uint32_t(bits)));
  return Element::of_number(small_value(format_of(elem), bits));
}

std::string text_of(Elem elem, const Element &element) {
  if (element.poison)
    return "poison";
  if (is_integer(elem))
    return std::to_string(element.integer);
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.17g", element.number);
  return buffer;
}

} // namespace tritonc::interpreter
