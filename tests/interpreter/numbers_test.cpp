// Tests interpreter/numbers.cpp.

#include "interpreter/numbers.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

using namespace tritonc::interpreter;
using tritonc::ir::Elem;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

} // namespace

TEST_CASE("rounded: to nearest, ties to even") {
  struct {
    Elem elem;
    double value, expected;
  } cases[] = {
      {Elem::f16, 2049, 2048},
      {Elem::f16, 2051, 2052},
      {Elem::f16, 2049.001, 2050},
      {Elem::f16, -2051, -2052},
      {Elem::f16, 65519.9, 65504},
      {Elem::f16, 65520, infinity},
      {Elem::f16, -1e9, -infinity},
      {Elem::f16, 0x1p-25, 0},
      {Elem::f16, 0x1.01p-25, 0x1p-24},
      {Elem::f16, 0x1.8p-24, 0x1p-23},
      {Elem::bf16, 257, 256},
      {Elem::bf16, 259, 260},
      {Elem::bf16, 1 + 0x1p-8, 1},
      {Elem::bf16, 3.4e38, infinity},
      {Elem::bf16, 0x1p-134, 0},
      {Elem::bf16, 0x1.1p-134, 0x1p-133},
      {Elem::e4m3, 17, 16},
      {Elem::e4m3, 19, 20},
      {Elem::e4m3, 1000, 448},
      {Elem::e4m3, -infinity, -448},
      {Elem::e4m3, 0x1p-10, 0},
      {Elem::e4m3, 0x1.1p-10, 0x1p-9},
      {Elem::e5m2, 9, 8},
      {Elem::e5m2, 11, 12},
      {Elem::e5m2, 1e6, 57344},
      {Elem::f32, 16777217, 16777216},
      {Elem::f32, 16777219, 16777220},
      {Elem::f64, 0.1, 0.1},
  };
  for (auto [elem, value, expected] : cases) {
    CAPTURE(tritonc::ir::name_of(elem));
    CAPTURE(value);
    CHECK(rounded(elem, value) == expected);
  }
}

TEST_CASE("rounded: keeps values that are exact in the type") {
  for (Elem elem : {Elem::f16, Elem::bf16, Elem::e4m3, Elem::e5m2, Elem::f32, Elem::f64}) {
    CAPTURE(tritonc::ir::name_of(elem));
    for (double value : {0.0, 1.0, -1.0, 0.5, -12.0, 0x1.8p-5})
      CHECK(rounded(elem, value) == value);
    CHECK(std::signbit(rounded(elem, -0.0)));
    CHECK(std::isnan(rounded(elem, std::nan(""))));
  }
}

TEST_CASE("bits_of: round trip of every code of the small types") {
  for (Elem elem : {Elem::f16, Elem::bf16, Elem::e4m3, Elem::e5m2}) {
    uint64_t wrong = 0, count = uint64_t(1) << tritonc::ir::bits_of(elem);
    for (uint64_t bits = 0; bits < count; bits++) {
      Element element = from_bits(elem, bits);
      bool kept = std::isinf(element.number) || rounded(elem, element.number) == element.number;
      if (!std::isnan(element.number) && (!kept || bits_of(elem, element) != bits))
        wrong++;
    }
    CAPTURE(tritonc::ir::name_of(elem));
    CHECK(wrong == 0);
  }
}

TEST_CASE("bits_of: known codes") {
  CHECK(bits_of(Elem::f16, Element::of_number(1)) == 0x3c00);
  CHECK(bits_of(Elem::f16, Element::of_number(-2)) == 0xc000);
  CHECK(bits_of(Elem::f16, Element::of_number(infinity)) == 0x7c00);
  CHECK(bits_of(Elem::f16, Element::of_number(0x1p-24)) == 1);
  CHECK(bits_of(Elem::e4m3, Element::of_number(448)) == 0x7e);
  CHECK(bits_of(Elem::e4m3, Element::of_number(std::nan(""))) == 0x7f);
  CHECK(bits_of(Elem::e5m2, Element::of_number(57344)) == 0x7b);
  CHECK(bits_of(Elem::i8, Element::of_integer(-1)) == 0xff);
  CHECK(bits_of(Elem::f64, Element::of_number(1)) == std::bit_cast<uint64_t>(1.0));
  // A bf16 value is the upper half of an f32.
  for (float value : {1.0f, -3.5f, 1e30f, 1e-30f})
    CHECK(bits_of(Elem::f32, from_bits(Elem::bf16, std::bit_cast<uint32_t>(value) >> 16)) ==
          (std::bit_cast<uint32_t>(value) & 0xffff0000));
}

TEST_CASE("wrapped: integers wrap to their width") {
  CHECK(wrapped(Elem::i8, 128) == -128);
  CHECK(wrapped(Elem::i16, 65537) == 1);
  CHECK(wrapped(Elem::i32, int64_t(1) << 31) == -(int64_t(1) << 31));
  CHECK(wrapped(Elem::i1, 3) == 1);
  CHECK(wrapped(Elem::i64, -5) == -5);
  CHECK(as_unsigned(Elem::i8, -1) == 255);
  CHECK(as_unsigned(Elem::i64, -1) == ~uint64_t(0));
}

TEST_CASE("rounded_integer: rounds once") {
  // Via double, the result would be 2^60.
  int64_t value = (int64_t(1) << 60) + (int64_t(1) << 36) + 1;
  CHECK(rounded_integer(Elem::f32, value, false) == 0x1.000002p60);
  CHECK(rounded_integer(Elem::f64, -1, true) == 0x1p64);
  CHECK(rounded_integer(Elem::f16, 70000, false) == infinity);
}

TEST_CASE("rounded_to_tf32: 11 bits, ties away from zero") {
  CHECK(rounded_to_tf32(2049) == 2050);
  CHECK(rounded_to_tf32(-2049) == -2050);
  CHECK(rounded_to_tf32(2048.9) == 2048);
  CHECK(rounded_to_tf32(1.0 / 3) == 0x1.554p-2);
  CHECK(rounded_to_tf32(0) == 0);
}

TEST_CASE("copied_to_tf32: 11 bits, ties to even") {
  CHECK(copied_to_tf32(2049) == 2048);
  CHECK(copied_to_tf32(2051) == 2052);
  CHECK(copied_to_tf32(-2049.001) == -2050);
  CHECK(copied_to_tf32(1.0 / 3) == 0x1.554p-2);
  CHECK(copied_to_tf32(0x1.fffffep127) == std::numeric_limits<double>::infinity());
  CHECK(copied_to_tf32(0x1p-149) == 0);
  CHECK(copied_to_tf32(0) == 0);
}
