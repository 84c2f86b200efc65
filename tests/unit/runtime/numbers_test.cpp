// Tests tritonc/numbers.hpp.

#include <tritonc/numbers.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace tritonc;

namespace {

template <typename T, typename Bits> T from_bits(Bits bits) {
  T number;
  number.bits = bits;
  return number;
}

/// Returns every finite value of the format, in ascending order from 0.
template <typename T> std::vector<double> magnitudes(unsigned finite_count) {
  std::vector<double> out;
  for (unsigned bits = 0; bits < finite_count; bits++)
    out.push_back(double(float(from_bits<T>(decltype(T::bits)(bits)))));
  return out;
}

/// Rounds by definition: returns the index of the nearest value; a tie goes to the even index.
unsigned nearest(const std::vector<double> &numbers, double magnitude) {
  auto above = std::lower_bound(numbers.begin(), numbers.end(), magnitude);
  if (above == numbers.begin())
    return 0;
  unsigned high = unsigned(above - numbers.begin()), low = high - 1;
  if (above == numbers.end())
    return low;
  double to_low = magnitude - numbers[low], to_high = numbers[high] - magnitude;
  if (to_low != to_high)
    return to_low < to_high ? low : high;
  return low % 2 == 0 ? low : high;
}

/// Checks random floats in the range of the format, and the midpoints between adjacent values with
/// their adjacent floats.
template <typename T> void check_rounding(unsigned finite_count, unsigned sign) {
  std::vector<double> numbers = magnitudes<T>(finite_count);
  auto check = [&](float x) {
    if (double(x) > numbers.back())
      return;
    unsigned expected = nearest(numbers, double(x));
    CHECK(unsigned(T(x).bits) == expected);
    CHECK(unsigned(T(-x).bits) == (expected | sign));
  };
  for (size_t i = 0; i + 1 < numbers.size(); i += 1 + numbers.size() / 4096) {
    float middle = float((numbers[i] + numbers[i + 1]) / 2);
    check(middle);
    check(std::nextafterf(middle, 0));
    check(std::nextafterf(middle, INFINITY));
  }
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(std::log2(numbers[1]) - 3,
                                                  std::log2(numbers.back()));
  for (int i = 0; i < 2000; i++)
    check(float(std::exp2(exponent(random))));
}

} // namespace

TEST_CASE("half: round trip through float is exact") {
  for (unsigned bits = 0; bits < 0x10000; bits++) {
    half number = from_bits<half>(std::uint16_t(bits));
    if (std::isnan(float(number)))
      CHECK((half(float(number)).bits & 0x7c00) == 0x7c00);
    else
      CHECK(half(float(number)).bits == bits);
  }
}

TEST_CASE("half: converts known values") {
  CHECK(half(1.0f).bits == 0x3c00);
  CHECK(half(-2.0f).bits == 0xc000);
  CHECK(half(65504.0f).bits == 0x7bff);
  CHECK(half(65519.0f).bits == 0x7bff);
  CHECK(half(65520.0f).bits == 0x7c00); // a tie goes to even: infinity
  CHECK(half(5.9604645e-8f).bits == 0x0001);
  CHECK(half(2.9802322e-8f).bits == 0x0000); // half of the smallest value
  CHECK(half(-0.0f).bits == 0x8000);
  CHECK(float(from_bits<half>(std::uint16_t(0x03ff))) == 6.097555e-5f);
  CHECK(half(INFINITY).bits == 0x7c00);
  CHECK(std::isnan(float(half(NAN))));
  CHECK(half(1e-45f).bits == 0);
}

TEST_CASE("half: rounds to nearest even") { check_rounding<half>(0x7c00, 0x8000); }

TEST_CASE("bfloat16: converts known values") {
  CHECK(bfloat16(1.0f).bits == 0x3f80);
  CHECK(bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(bfloat16(1e-45f).bits == 0);
  CHECK(bfloat16(1e-40f).bits == 0x0001); // subnormal in both types
  CHECK(std::isnan(float(bfloat16(NAN))));
  for (unsigned bits = 0; bits < 0x7f80; bits++)
    CHECK(bfloat16(float(from_bits<bfloat16>(std::uint16_t(bits)))).bits == bits);
}

TEST_CASE("bfloat16: rounds to nearest even") { check_rounding<bfloat16>(0x7f80, 0x8000); }

TEST_CASE("float8_e4m3: rounds to nearest even, has no infinity") {
  check_rounding<float8_e4m3>(0x7f, 0x80);
  CHECK(float(from_bits<float8_e4m3>(std::uint8_t(0x7e))) == 448.0f);
  CHECK(float8_e4m3(1000.0f).bits == 0x7e);
  CHECK(float8_e4m3(-INFINITY).bits == 0xfe);
  CHECK(float8_e4m3(NAN).bits == 0x7f);
  CHECK(std::isnan(float(from_bits<float8_e4m3>(std::uint8_t(0xff)))));
}

TEST_CASE("float8_e5m2: rounds to nearest even, has infinity") {
  check_rounding<float8_e5m2>(0x7c, 0x80);
  CHECK(float8_e5m2(1e6f).bits == 0x7c);
  CHECK(std::isinf(float(float8_e5m2(INFINITY))));
  CHECK(std::isnan(float(float8_e5m2(NAN))));
}
