// Tests language/types.cpp.

#include "language/types.h"

#include <doctest/doctest.h>

using namespace tritonc;

TEST_CASE("broadcast: follows NumPy") {
  struct {
    Extents a, b;
    std::optional<Extents> result;
  } cases[] = {
      {{}, {}, Extents{}},
      {{}, {8}, Extents{8}},
      {{8}, {8}, Extents{8}},
      {{1}, {8}, Extents{8}},
      {{8}, {4, 8}, Extents{4, 8}},
      {{4, 1}, {1, 8}, Extents{4, 8}},
      {{4, 1}, {8}, Extents{4, 8}},
      {{2, 1, 1}, {4, 8}, Extents{2, 4, 8}},
      {{4}, {8}, std::nullopt},
      {{4}, {4, 8}, std::nullopt},
      {{4, 8}, {8, 4}, std::nullopt},
  };
  for (const auto &[a, b, result] : cases) {
    CAPTURE(name_of(a));
    CAPTURE(name_of(b));
    CHECK(broadcast(a, b) == result);
    CHECK(broadcast(b, a) == result);
  }
}

TEST_CASE("common: follows C") {
  struct {
    Scalar a, b, result;
  } cases[] = {
      {Scalar::bool_, Scalar::bool_, Scalar::int32},
      {Scalar::int8, Scalar::uint16, Scalar::int32},
      {Scalar::int32, Scalar::uint32, Scalar::uint32},
      {Scalar::uint32, Scalar::int64, Scalar::int64},
      {Scalar::int64, Scalar::uint64, Scalar::uint64},
      {Scalar::int64, Scalar::half, Scalar::half},
      {Scalar::half, Scalar::half, Scalar::half},
      {Scalar::half, Scalar::bfloat16, Scalar::float_},
      {Scalar::e4m3, Scalar::e4m3, Scalar::float_},
      {Scalar::e4m3, Scalar::e5m2, Scalar::float_},
      {Scalar::e5m2, Scalar::half, Scalar::float_},
      {Scalar::e5m2, Scalar::int64, Scalar::float_},
      {Scalar::e4m3, Scalar::double_, Scalar::double_},
      {Scalar::half, Scalar::float_, Scalar::float_},
      {Scalar::float_, Scalar::double_, Scalar::double_},
  };
  for (const auto &[a, b, result] : cases) {
    CAPTURE(name_of(a));
    CAPTURE(name_of(b));
    CHECK(common(a, b) == result);
    CHECK(common(b, a) == result);
  }
}

TEST_CASE("name_of: names types as in messages") {
  CHECK(name_of(Type::of(Scalar::float_)) == "float");
  CHECK(name_of(Type{Scalar::half, true, false, {}}) == "half *");
  CHECK(name_of(Type{Scalar::half, true, true, {64}}) == "const half *[64]");
  CHECK(name_of(Type{Scalar::uint32, false, false, {2, 4}}) == "unsigned[2, 4]");
}
