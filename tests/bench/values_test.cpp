// Tests tests/bench/values.cpp.

#include "values.h"

#include <tritonc/numbers.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

using namespace bench;

namespace {

constexpr Type all_types[] = {Type::float16, Type::bfloat16, Type::tf32, Type::float32,
                              Type::float64, Type::e4m3,     Type::int8};

template <typename T> std::vector<T> many(T number) { return std::vector<T>(10000, number); }

} // namespace

TEST_CASE("normal_numbers: mean 0 and variance 1") {
  std::vector<float> numbers = normal_numbers(100000);
  double sum = 0, squares = 0;
  for (float number : numbers) {
    sum += number;
    squares += double(number) * number;
  }
  CHECK(std::abs(sum / 100000) < 0.02);
  CHECK(squares / 100000 == doctest::Approx(1).epsilon(0.02));
}

TEST_CASE("as_operands: result has the size of the type") {
  for (Type type : all_types) {
    CAPTURE(name(type));
    CHECK(as_operands({1, 2, 3}, type).size() == 3 * size_t(operand_bytes(type)));
  }
}

TEST_CASE("as_operands: int8 values are multiplied by 32 and clamped") {
  std::vector<unsigned char> bytes = as_operands({1, -1, 10, -10}, Type::int8);
  CHECK(int(bytes[0]) == 32);
  CHECK(int(static_cast<signed char>(bytes[1])) == -32);
  CHECK(int(bytes[2]) == 127);
  CHECK(int(static_cast<signed char>(bytes[3])) == -127);
}

TEST_CASE("difference: is 0 for equal results") {
  auto values = many(1.5f);
  Difference found = difference(Type::float32, values.data(), values.data(), values.size());
  CHECK(found.mean == 0);
  CHECK(found.largest == 0);
  CHECK(is_acceptable(Type::float32, found));
}

TEST_CASE("is_acceptable: rejects one wrong element of many") {
  auto peers = many(tritonc::half(1));
  auto ours = peers;
  ours[5000] = tritonc::half(1.5f);
  Difference found = difference(Type::float16, ours.data(), peers.data(), peers.size());
  CHECK(found.largest == doctest::Approx(0.5));
  CHECK(found.mean == doctest::Approx(0.005));
  CHECK(!is_acceptable(Type::float16, found));
}

TEST_CASE("is_acceptable: accepts rounding errors") {
  auto peers = many(tritonc::half(1));
  auto ours = peers;
  for (size_t i = 0; i < ours.size(); i += 3)
    ours[i].bits++; // the next value
  CHECK(is_acceptable(Type::float16,
                      difference(Type::float16, ours.data(), peers.data(), peers.size())));
}

TEST_CASE("is_acceptable: rejects an unwritten element of any type") {
  for (Type type : all_types) {
    CAPTURE(name(type));
    std::vector<unsigned char> peers(1000 * size_t(result_bytes(type)), 0);
    for (size_t i = 0; i < peers.size(); i++) // about 1 to 2, or an int32
      peers[i] = i % size_t(result_bytes(type)) == size_t(result_bytes(type)) - 1 ? 0x3f : 0;
    if (type == Type::int8)
      for (size_t i = 3; i < peers.size(); i += 4)
        peers[i] = 0;
    auto ours = peers;
    std::memset(ours.data() + 500 * result_bytes(type), poison(type), result_bytes(type));
    CHECK(!is_acceptable(type, difference(type, ours.data(), peers.data(), 1000)));
  }
}

TEST_CASE("is_acceptable: rejects two unwritten results") {
  std::vector<unsigned char> nothing(2000, poison(Type::float16));
  CHECK(!is_acceptable(Type::float16,
                       difference(Type::float16, nothing.data(), nothing.data(), 1000)));
}
