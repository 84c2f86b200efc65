// Tests error_bounds.h and compare() of matrices.h, without a GPU: results in another order of
// additions are right, and one wrong element is found.

#include "matrices.h"

#include <doctest/doctest.h>

#include <bit>
#include <functional>

using namespace device_tests;

namespace {

/// Adds a term to a float accumulator.
using Add = float (*)(float sum, double term);

float to_nearest(float sum, double term) { return float(double(sum) + term); }

/// Truncates toward zero, as tensor cores do.
float truncated(float sum, double term) {
  double exact = double(sum) + term;
  float nearest = float(exact);
  return std::fabs(nearest) > std::fabs(exact) ? std::nextafter(nearest, 0.0f) : nearest;
}

/// C = A B with K in `parts` parts, added in one order or the other, and stored as T.
template <typename T>
Matrix computed(const Matrix &a, const Matrix &b, Add add, int parts, bool is_reversed) {
  Matrix c = zero_matrix(a.rows, b.columns);
  for (int row = 0; row < a.rows; row++)
    for (int column = 0; column < b.columns; column++) {
      float total = 0;
      for (int part = 0; part < parts; part++) {
        float sum = 0;
        for (int i = part * a.columns / parts; i < (part + 1) * a.columns / parts; i++) {
          int k = is_reversed ? a.columns - 1 - i : i;
          sum = add(sum, a.at(row, k) * b.at(k, column));
        }
        total = add(total, sum);
      }
      c.at(row, column) = float(T(total));
    }
  return c;
}

std::string wrong_element(const Matrix &c, const std::vector<Bounded> &expected) {
  return find_wrong_element(
      c.rows, c.columns, [&](int row, int column) { return c.at(row, column); },
      [&](int row, int column) {
        return expected[size_t(row) * size_t(c.columns) + size_t(column)];
      });
}

template <typename T> void check_orders(int k) {
  Matrix a = random_matrix<T>(9, k), b = random_matrix<T>(k, 13);
  std::vector<Bounded> expected = stored_as<T>(bounded_product<T>(a, b));
  for (Add add : {to_nearest, truncated})
    for (int parts : {1, 4, 16})
      for (bool is_reversed : {false, true})
        CHECK(wrong_element(computed<T>(a, b, add, parts, is_reversed), expected) == "");
}

} // namespace

TEST_CASE("bounded_product: allows any order of additions") {
  for (int k : {1, 17, 203, 4104}) {
    CAPTURE(k);
    check_orders<tritonc::half>(k);
    check_orders<tritonc::bfloat16>(k);
    check_orders<float>(k);
  }
}

TEST_CASE("bounded_product: one wrong element is found") {
  Matrix a = random_matrix<tritonc::half>(40, 203), b = random_matrix<tritonc::half>(203, 50);
  std::vector<Bounded> expected = stored_as<tritonc::half>(bounded_product<tritonc::half>(a, b));
  Matrix c = computed<tritonc::half>(a, b, to_nearest, 1, false);
  REQUIRE(wrong_element(c, expected) == "");
  SUBCASE("its right neighbor") { c.at(17, 31) = c.at(17, 32); }
  SUBCASE("without the last product") { c.at(17, 31) -= a.at(17, 202) * b.at(202, 31); }
  SUBCASE("unwritten") { c.at(17, 31) = NAN; }
  SUBCASE("zero") { c.at(17, 31) = 0; }
  CHECK(wrong_element(c, expected).starts_with("element (17, 31) is "));
}

TEST_CASE("bounded_product: sums of small integers are exact") {
  Matrix a = small_integers(9, 8200), b = small_integers(8200, 13);
  a.at(5, 4100) = b.at(4100, 7) = 1;
  std::vector<Bounded> expected = stored_as<float>(bounded_product<tritonc::half>(a, b));
  Matrix c = computed<float>(a, b, truncated, 16, true);
  CHECK(wrong_element(c, expected) == "");
  c.at(5, 7) -= 1; // one missing product
  CHECK(wrong_element(c, expected).starts_with("element (5, 7) is "));

  // 8-bit floats: exact only up to 2^13.
  CHECK(bounded_product<tritonc::half>(a, b)[0].error == 0);
  CHECK(bounded_product<tritonc::float8_e4m3>(a, b)[0].error > 0);
  CHECK(bounded_product<std::int8_t>(a, b)[0].error == 0);
}

TEST_CASE(
    "random_matrix: the elements are exact in their type, and double has more bits than float") {
  auto are_exact = [](const Matrix &matrix, auto narrowed) {
    return std::all_of(matrix.elements.begin(), matrix.elements.end(),
                       [&](double element) { return narrowed(element) == element; });
  };
  auto to_float = [](double element) { return double(float(element)); };
  CHECK(are_exact(random_matrix<float>(9, 9), to_float));
  CHECK(!are_exact(random_matrix<double>(9, 9), to_float));
  CHECK(are_exact(random_matrix<tritonc::float8_e5m2>(9, 9),
                  [](double element) { return as_double(tritonc::float8_e5m2(float(element))); }));
}

TEST_CASE("bounded_product: tf32 rounds the operands") {
  auto to_tf32 = [](Matrix matrix) {
    for (double &element : matrix.elements) {
      auto bits = std::bit_cast<std::uint32_t>(float(element));
      element = std::bit_cast<float>((bits + 0x1000) & ~0x1fffu);
    }
    return matrix;
  };
  Matrix a = random_matrix<float>(9, 300), b = random_matrix<float>(300, 13);
  Matrix c = computed<float>(to_tf32(a), to_tf32(b), truncated, 1, false);
  CHECK(wrong_element(c, bounded_product<float>(a, b, 0x1p-10 + 0x1p-22)) == "");
  CHECK(wrong_element(c, bounded_product<float>(a, b)) != "");
}

TEST_CASE("rounded: half a unit in the last place, also of subnormals") {
  CHECK(rounded<tritonc::half>({1}).error == doctest::Approx(0x1p-11));
  CHECK(rounded<tritonc::half>({-1000, 1}).error == doctest::Approx(1 + 1001 * 0x1p-11));
  CHECK(rounded<tritonc::half>({}).error == 0x1p-25);
  CHECK(rounded<std::int32_t>({1e9}).error == 0);
  for (double value : {0.3, 1.0009, 3e-5, 1e-7, 60000.0})
    CHECK(is_right(as_double(tritonc::half(float(value))), rounded<tritonc::half>({value})));
  CHECK(!is_right(NAN, {0, 1}));
}

TEST_CASE("is_within: the error of normal results") {
  double unit = unit_in_last_place<float>(1.5);
  CHECK(unit == 0x1p-23);
  CHECK(is_within<float>(1.5 + 2 * unit, 1.5, 2 * unit));
  CHECK(!is_within<float>(1.5 + 3 * unit, 1.5, 2 * unit));
}

TEST_CASE("is_within: results of zero, near zero, and NaN") {
  double unit = unit_in_last_place<float>(0);
  CHECK(is_within<float>(0, 0, 0));
  CHECK(is_within<float>(-0.0, 0, 0));
  CHECK(!is_within<float>(1e-44, 0, 0));
  CHECK(!is_within<float>(17, 0, unit));
  CHECK(is_within<float>(0, 1e-300, unit));
  CHECK(!is_within<float>(1e-37, 1e-300, unit));
  CHECK(is_within<float>(0x1p-140, 0x1p-140, unit));
  CHECK(!is_within<float>(0, 0x1p-140, unit));
  CHECK(is_within<float>(NAN, NAN, 0));
  CHECK(!is_within<float>(NAN, 1, 1));
  CHECK(!is_within<float>(1, NAN, 1));
}

TEST_CASE("is_within: results above the maximum are infinite") {
  double infinite = std::numeric_limits<double>::infinity(),
         max = double(std::numeric_limits<float>::max());
  double unit = unit_in_last_place<float>(1e200);
  CHECK(is_within<float>(infinite, 1e200, unit));
  CHECK(is_within<float>(-infinite, -1e200, unit));
  CHECK(!is_within<float>(-infinite, 1e200, unit));
  CHECK(!is_within<float>(max, 1e200, unit));
  CHECK(!is_within<float>(17, 1e200, unit));
  CHECK(is_within<float>(infinite, max, unit));
  CHECK(!is_within<float>(infinite, max / 2, unit));
  CHECK(is_within<float>(infinite, infinite, 0));
  CHECK(!is_within<float>(max, infinite, 0));
}
