// Tests models/numbers.h: every f16, bf16, and 8-bit float value, and rounding at every tie.

#include "models/numbers.h"

#include <cmath>
#include <doctest/doctest.h>
#include <initializer_list>
#include <limits>

using namespace tritonc::emulator::models;

namespace {

// The value of bits, by the definition of a binary float format.
double defined(uint32_t bits, int exponent_bits, int mantissa_bits, bool has_infinity) {
  int bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = int(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  int mantissa = int(bits & ((1u << mantissa_bits) - 1));
  double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
  bool top = exponent == (1 << exponent_bits) - 1;
  if (top && has_infinity)
    return mantissa ? std::nan("") : sign * INFINITY;
  if (top && mantissa == (1 << mantissa_bits) - 1)
    return std::nan("");
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

template <typename Format> void check_all(int exponent_bits, int mantissa_bits, bool has_infinity) {
  uint32_t count = 2u << (exponent_bits + mantissa_bits);
  uint32_t wrong = 0;
  for (uint32_t bits = 0; bits < count; bits++) {
    double value = defined(bits, exponent_bits, mantissa_bits, has_infinity);
    float widened = Format::widened(bits);
    wrong += !same(widened, value);
    if (std::isnan(value)) {
      wrong += Format::narrowed(widened, Overflow::infinity) != Format::not_a_number;
      continue;
    }
    // Narrow the value, its adjacent floats, and the midpoint to the next value.
    if (!std::isinf(value))
      for (Overflow overflow : {Overflow::infinity, Overflow::largest})
        wrong += Format::narrowed(widened, overflow) != bits;
    uint32_t magnitude = bits & (count / 2 - 1);
    if (magnitude >= Format::largest)
      continue;
    double next = defined(bits + 1, exponent_bits, mantissa_bits, has_infinity);
    float half = float((value + next) / 2);
    if (double(half) != (value + next) / 2)
      continue; // no float lies between the smallest bf16 values
    uint32_t even = magnitude % 2 == 0 ? bits : bits + 1;
    wrong += Format::narrowed(half, Overflow::largest) != even;
    wrong += Format::narrowed(std::nextafter(half, float(value)), Overflow::largest) != bits;
    wrong += Format::narrowed(std::nextafter(half, float(next)), Overflow::largest) != bits + 1;
  }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("numbers: widening and narrowing of every value") {
  SUBCASE("half") { check_all<Half>(5, 10, true); }
  SUBCASE("bfloat16") { check_all<BFloat16>(8, 7, true); }
  SUBCASE("e4m3") { check_all<E4M3>(4, 3, false); }
  SUBCASE("e5m2") { check_all<E5M2>(5, 2, true); }
}

TEST_CASE("numbers: overflow gives infinity, NaN or the max value") {
  CHECK(to_half(65504) == 0x7bff);
  CHECK(to_half(65519) == 0x7bff);
  CHECK(to_half(65520) == 0x7c00);
  CHECK(to_half(-65520) == 0xfc00);
  CHECK(to_half(65520, Overflow::largest) == 0x7bff);
  CHECK(to_half(-INFINITY, Overflow::largest) == 0xfbff);
  CHECK(to_bfloat16(std::numeric_limits<float>::max()) == 0x7f80);

  CHECK(from_e4m3(0x7e) == 448);
  CHECK(to_e4m3(464) == 0x7e); // a tie rounds to even: 448
  CHECK(to_e4m3(465) == 0x7e);
  CHECK(to_e4m3(465, Overflow::infinity) == 0x7f);
  CHECK(to_e4m3(-INFINITY) == 0xfe);
  CHECK(from_e5m2(0x7b) == 57344);
  CHECK(to_e5m2(1e9f) == 0x7b);
  CHECK(to_e5m2(-1e9f, Overflow::infinity) == 0xfc);
}

TEST_CASE("numbers: narrowing gives one NaN") {
  float nan = std::bit_cast<float>(0xffc1'2345u);
  CHECK(to_half(nan) == 0x7fff);
  CHECK(to_bfloat16(nan) == 0x7fff);
  CHECK(to_e4m3(nan) == 0x7f);
  CHECK(to_e5m2(nan) == 0x7f);
  CHECK(to_tf32(nan) == 0xffc1'2000); // tf32 keeps the NaN's upper bits
}

TEST_CASE("tf32: rounds ties away from zero, truncates on reads") {
  CHECK(to_tf32(1.0f) == 0x3f80'0000);
  CHECK(to_tf32(std::bit_cast<float>(0x3f80'0fffu)) == 0x3f80'0000);
  CHECK(to_tf32(std::bit_cast<float>(0x3f80'1000u)) == 0x3f80'2000);
  CHECK(to_tf32(std::bit_cast<float>(0xbf80'1000u)) == 0xbf80'2000);
  CHECK(to_tf32(std::bit_cast<float>(0x3f80'3000u)) == 0x3f80'4000);
  CHECK(to_tf32(std::numeric_limits<float>::max()) == 0x7f80'0000);
  CHECK(to_tf32(-INFINITY) == 0xff80'0000);
  CHECK(from_tf32(0x3f80'1fff) == 1.0f);
}

TEST_CASE("add_half, add_bfloat16: round once") {
  // 2048 + 1 is the midpoint of two f16 values; a bit more is above it.
  CHECK(add_half(to_half(2048), to_half(1)) == to_half(2048));
  CHECK(add_half(to_half(2048), to_half(1.0009765625f)) == to_half(2050));
  CHECK(add_half(to_half(65504), to_half(16)) == 0x7c00);
  CHECK(add_half(to_half(1), to_half(-1)) == 0);
  CHECK(add_bfloat16(to_bfloat16(256), to_bfloat16(1)) == to_bfloat16(256));
  CHECK(add_bfloat16(to_bfloat16(256), to_bfloat16(1.0078125f)) == to_bfloat16(258));
}
