// Tests exact.cpp: arithmetic with error bounds.

#include "random_kernels/exact.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tritonc::random;

namespace {

Number integer(int64_t value) { return Number::of_integer(value); }
Number real(double value) { return Number::of_real(value); }

} // namespace

TEST_CASE("exact: signed overflow is poison, unsigned wraps") {
  CHECK(binary(Op::add, Scalar::int32, integer(2147483646), integer(1)).integer == 2147483647);
  CHECK(binary(Op::add, Scalar::int32, integer(2147483647), integer(1)).poison);
  CHECK(binary(Op::mul, Scalar::int64, integer(INT64_MAX), integer(2)).poison);
  CHECK(unary(Op::negate, Scalar::int32, integer(INT32_MIN)).poison);
  CHECK(binary(Op::add, Scalar::uint32, integer(4294967295), integer(1)).integer == 0);
  CHECK(binary(Op::sub, Scalar::uint64, integer(0), integer(1)).integer == -1); // as bits
  CHECK(binary(Op::mul, Scalar::uint64, integer(-1), integer(-1)).integer == 1);
}

TEST_CASE("exact: division and shifts as defined by C") {
  CHECK(binary(Op::div, Scalar::int32, integer(-7), integer(2)).integer == -3);
  CHECK(binary(Op::rem, Scalar::int32, integer(-7), integer(2)).integer == -1);
  CHECK(binary(Op::div, Scalar::uint64, integer(-1), integer(2)).integer == INT64_MAX);
  CHECK(binary(Op::div, Scalar::int32, integer(7), integer(0)).poison);
  CHECK(binary(Op::div, Scalar::int32, integer(INT32_MIN), integer(-1)).poison);
  CHECK(binary(Op::rem, Scalar::int32, integer(INT32_MIN), integer(-1)).poison);
  CHECK(binary(Op::shr, Scalar::int32, integer(-8), integer(1)).integer == -4);
  CHECK(binary(Op::shr, Scalar::uint64, integer(-8), integer(1)).integer == INT64_MAX - 3);
  CHECK(binary(Op::shl, Scalar::int32, integer(1), integer(32)).poison);
  CHECK(binary(Op::shl, Scalar::uint32, integer(1), integer(31)).integer == 2147483648);
}

TEST_CASE("exact: comparisons by the type's signedness") {
  CHECK(binary(Op::lt, Scalar::int64, integer(-1), integer(0)).integer == 1);
  CHECK(binary(Op::lt, Scalar::uint64, integer(-1), integer(0)).integer == 0);
  CHECK(binary(Op::max, Scalar::uint64, integer(-1), integer(0)).integer == -1);
}

TEST_CASE("exact: error bound is 0 without rounding") {
  CHECK(binary(Op::add, Scalar::half, real(2047), real(1)).error == 0);
  CHECK(binary(Op::add, Scalar::half, real(2048), real(1)).error > 0);
  CHECK(binary(Op::add, Scalar::float_, real(2048), real(1)).error == 0);
  CHECK(binary(Op::add, Scalar::double_, real(0x1p60), real(1)).error > 0);
  CHECK(binary(Op::mul, Scalar::double_, real(0x1p40 + 1), real(0x1p40 + 1)).error > 0);
  CHECK(binary(Op::div, Scalar::float_, real(3), real(4)).error == 0);
  CHECK(binary(Op::div, Scalar::float_, real(1), real(3)).error > 0);
  CHECK(unary(Op::sqrt, Scalar::float_, real(49)).error == 0);
  CHECK(unary(Op::sqrt, Scalar::float_, real(2)).error > 0);
  Number third = binary(Op::div, Scalar::float_, real(1), real(3));
  CHECK(std::fabs(double(1.0f / 3.0f) - third.real) <= third.error);
  Number more = binary(Op::add, Scalar::float_, third, real(1));
  CHECK(more.error > third.error);
}

TEST_CASE("exact: comparisons of rounded floats give poison") {
  Number third = binary(Op::div, Scalar::float_, real(1), real(3));
  Number one = binary(Op::mul, Scalar::float_, third, real(3));
  CHECK(binary(Op::eq, Scalar::float_, one, real(1)).poison);
  CHECK(converted(Scalar::float_, Scalar::int32, one).poison);
  CHECK(binary(Op::lt, Scalar::float_, one, real(2)).integer == 1);
  CHECK(converted(Scalar::float_, Scalar::int32, binary(Op::add, Scalar::float_, one, real(0.5)))
            .integer == 1);
}

TEST_CASE("exact: conversions, poison if undefined") {
  CHECK(converted(Scalar::int32, Scalar::int8, integer(200)).integer == -56);
  CHECK(converted(Scalar::int8, Scalar::uint32, integer(-1)).integer == 4294967295);
  CHECK(converted(Scalar::uint64, Scalar::double_, integer(-1)).error > 0);
  CHECK(converted(Scalar::float_, Scalar::int32, real(-2.75)).integer == -2);
  CHECK(converted(Scalar::float_, Scalar::uint8, real(-0.5)).integer == 0);
  CHECK(converted(Scalar::float_, Scalar::uint8, real(256)).poison);
  CHECK(converted(Scalar::int32, Scalar::bool_, integer(256)).integer == 1);
  CHECK(converted(Scalar::float_, Scalar::half, real(70000)).poison);
}

TEST_CASE("bits_as: only for exact floats") {
  CHECK(bits_as(Scalar::float_, Scalar::int32, real(1)).integer == 0x3f800000);
  CHECK(bits_as(Scalar::half, Scalar::uint16, real(-2)).integer == 0xc000);
  CHECK(bits_as(Scalar::bfloat16, Scalar::int16, real(1)).integer == 0x3f80);
  CHECK(bits_as(Scalar::float_, Scalar::int32, real(0)).poison); // the sign of a zero is open
  CHECK(bits_as(Scalar::int32, Scalar::float_, integer(0x40400000)).real == 3);
  CHECK(bits_as(Scalar::int32, Scalar::float_, integer(0x7fc00000)).poison);
}

TEST_CASE("Sum: exact only if exact in every order") {
  Sum whole(Scalar::half);
  for (int i = 0; i < 64; i++)
    whole.add(real(i % 2 ? 32 : -32));
  CHECK(whole.result().error == 0);
  CHECK(whole.result().real == 0);
  Sum large(Scalar::half); // large magnitudes: some order may round
  for (int i = 0; i < 64; i++)
    large.add(real(i % 2 ? 65 : -65));
  CHECK(large.result().error > 0);
  Sum fractions(Scalar::half);
  for (int i = 0; i < 64; i++)
    fractions.add(real(i == 0 ? 0.125 : 32));
  CHECK(fractions.result().error > 0);
  Sum integers(Scalar::int8);
  integers.add(integer(100));
  integers.add(integer(100));
  CHECK(integers.result().integer == -56);
  Sum overflow(Scalar::int32);
  overflow.add(integer(2147483647));
  overflow.add(integer(1));
  CHECK(overflow.result().poison);
}

TEST_CASE("exact: infinities") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(binary(Op::max, Scalar::float_, real(-infinity), real(3)).real == 3);
  CHECK(binary(Op::add, Scalar::float_, real(-infinity), real(3)).real == -infinity);
  CHECK(binary(Op::sub, Scalar::float_, real(infinity), real(infinity)).poison);
  CHECK(binary(Op::mul, Scalar::float_, real(infinity), real(0)).poison);
}

TEST_CASE("exact: poison unless the other operand decides") {
  Number poison = Number::no_value();
  CHECK(binary(Op::add, Scalar::int32, poison, integer(1)).poison);
  CHECK_FALSE(binary(Op::bit_and, Scalar::int32, poison, integer(0)).poison);
  CHECK(binary(Op::logical_or, Scalar::bool_, integer(1), poison).integer == 1);
}

TEST_CASE("rounded_to_tf32: eleven bits") {
  CHECK(rounded_to_tf32(real(2047)).error == 0);
  CHECK(rounded_to_tf32(real(2049)).error > 0);
}

TEST_CASE("Sum: may start with the addend") {
  // 448 - 448 + 9.3: starting with 9.3, the sum is rounded to the precision of 448.
  Sum sum(Scalar::float_, 4);
  sum.add_product(real(64), real(7), 0);
  sum.add_product(real(-64), real(7), 0);
  Number product = sum.result(), first = real(9.3f);
  CHECK(product.error == 0);
  double begun = double(9.3f + 448.0f - 448.0f);
  for (Op op : {Op::add, Op::sub}) {
    Number result = binary(op, Scalar::float_, first, product);
    CHECK(std::fabs(result.real - begun) <= result.error);
    CHECK(result.error < 1e-2);
  }
  CHECK(binary(Op::add, Scalar::float_, real(3), product).error == 0); // small integers are exact
  CHECK(binary(Op::add, Scalar::float_, first, real(0)).error == 0);
}

TEST_CASE("Product: exact only if exact in every order") {
  auto product = [](Scalar scalar, std::vector<Number> factors) {
    Product product(scalar);
    for (const Number &factor : factors)
      product.multiply(factor);
    return product.result();
  };
  CHECK(product(Scalar::float_, {real(3), real(-0.5), real(0), real(7)}).real == 0);
  CHECK(product(Scalar::float_, {real(3), real(-0.5), real(7)}).real == -10.5);
  CHECK(product(Scalar::float_, {real(3), real(-0.5), real(7)}).error == 0);
  // The product of the first two needs more bits than f16, although the third is 0.
  CHECK(product(Scalar::half, {real(2047), real(3), real(0)}).error > 0);
  CHECK(product(Scalar::int32, {integer(65536), integer(65536), integer(0)}).poison);
  CHECK(product(Scalar::uint32, {integer(65536), integer(65537)}).integer == 65536);
  CHECK(product(Scalar::int8, {integer(100), integer(3)}).integer == 44);
}

TEST_CASE("exact: rounding functions and smooth functions") {
  CHECK(unary(Op::floor, Scalar::float_, real(-1.25)).real == -2);
  CHECK(unary(Op::round, Scalar::float_, real(-2.5)).real == -3);
  CHECK(unary(Op::trunc, Scalar::double_, real(-2.5)).real == -2);
  CHECK(unary(Op::ceil, Scalar::float_, real(2.5)).real == 3);
  CHECK(unary(Op::floor, Scalar::float_, {0, 2, 0.1}).poison); // 1 or 2
  CHECK(unary(Op::floor, Scalar::float_, {0, 2.5, 0.1}).real == 2);
  Number sine = unary(Op::sin, Scalar::float_, {0, 1, 0.01});
  CHECK(std::fabs(sine.real - std::sin(1.009)) <= sine.error);
  Number root = unary(Op::rsqrt, Scalar::float_, {0, 4, 0.01});
  CHECK(std::fabs(root.real - 1 / std::sqrt(3.991)) <= root.error);
  CHECK(unary(Op::rsqrt, Scalar::float_, {0, 1, 2}).poison);
  CHECK(multiplied_and_added(Scalar::float_, real(0x1p12 + 1), real(0x1p12 + 1), real(-0x1p24))
            .error == 0); // although the product is not exact in float
}

TEST_CASE("exact: 8-bit types round to their precision") {
  CHECK(converted(Scalar::float_, Scalar::e4m3, real(13)).error == 0);
  CHECK(converted(Scalar::float_, Scalar::e5m2, real(13)).error > 0);
  CHECK(converted(Scalar::float_, Scalar::e4m3, real(449)).poison);
  CHECK(is_representable(Scalar::e5m2, 57344));
  CHECK_FALSE(is_representable(Scalar::e4m3, 17));
}
