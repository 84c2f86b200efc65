// Tests runtime/tuner/values.cpp: random values for measurements, small changes of them, and the
// distances between the elements of two results.

#include "values.h"

#include <tritonc/numbers.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace tritonc;
using tuner::Element;
using tuner::find_element;

namespace {

template <typename T>
double excess(const char *type, std::vector<T> a, std::vector<T> b, std::vector<float> bounds) {
  return find_element(type)->excess(a.data(), b.data(), bounds.empty() ? nullptr : bounds.data(),
                                    a.size());
}

} // namespace

TEST_CASE("find_element: knows all parameter types") {
  for (const char *name : {"i1", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16",
                           "bf16", "f32", "f64", "e4m3", "e5m2"}) {
    CAPTURE(name);
    REQUIRE(find_element(name));
    CHECK(find_element(name)->name == name);
  }
  CHECK(!find_element("void"));
}

TEST_CASE("Element::fill: values depend only on the seed") {
  const Element &element = *find_element("f32");
  std::vector<float> a(1000), b(1000), c(1000);
  element.fill(a.data(), a.size(), 1);
  element.fill(b.data(), b.size(), 1);
  element.fill(c.data(), c.size(), 2);
  CHECK(a == b);
  CHECK(a != c);
  double sum = 0;
  for (float x : a) {
    CHECK(std::fabs(x) <= 1);
    sum += x;
  }
  CHECK(std::fabs(sum / 1000) < 0.1);
  std::vector<std::int32_t> indices(1000);
  find_element("i32")->fill(indices.data(), indices.size(), 1);
  for (std::int32_t index : indices) {
    CHECK(index >= 0);
    CHECK(index < 8);
  }
}

TEST_CASE("Element::perturb: small random changes in both directions") {
  std::vector<float> a(1000), b(1000), c(1000);
  const Element &element = *find_element("f32");
  element.fill(a.data(), a.size(), 1);
  b = c = a;
  element.perturb(b.data(), b.size(), 0x1p-7, 1);
  element.perturb(c.data(), c.size(), 0x1p-7, 2);
  CHECK(b != c);
  double max_change = 0, min_change = 0;
  for (std::size_t i = 0; i < a.size(); i++) {
    double change = double(b[i] / a[i] - 1);
    max_change = std::max(max_change, change);
    min_change = std::min(min_change, change);
  }
  CHECK(max_change > 0x1p-8);
  CHECK(max_change < 0x1p-6);
  CHECK(min_change < -0x1p-8);
  CHECK(min_change > -0x1p-6);
}

TEST_CASE("Element::perturb: changes all floats except the smallest") {
  for (const char *name : {"f16", "bf16", "f32", "f64", "e4m3", "e5m2"}) {
    CAPTURE(name);
    const Element &element = *find_element(name);
    std::vector<char> zero(element.bytes), one(element.bytes), changed;
    element.set(zero.data(), 0);
    element.set(one.data(), 1);
    bool is_changed = false;
    for (std::uint64_t seed = 0; seed < 20; seed++) {
      changed = zero;
      element.perturb(changed.data(), 1, 0x1p-10, seed);
      CHECK(changed == zero);
      changed = one;
      element.perturb(changed.data(), 1, 0x1p-10, seed);
      is_changed |= changed != one;
    }
    CHECK(is_changed);
    changed = one;
    element.enlarge(changed.data(), 1, 0x1p-10);
    CHECK(changed != one);
  }
  CHECK(find_element("i32")->is_integer());
  CHECK(!find_element("f16")->is_integer());
}

TEST_CASE("Element::enlarge: changes values away from zero") {
  std::vector<half> values = {half(1), half(-1), half(0)};
  find_element("f16")->enlarge(values.data(), values.size(), 0x1p-7);
  CHECK(float(values[0]) == 1 + 0x1p-7f);
  CHECK(float(values[1]) == -1 - 0x1p-7f);
  CHECK(float(values[2]) == 0);
}

TEST_CASE("Element::widen: max distance of each element") {
  const Element &element = *find_element("f32");
  float infinite = std::numeric_limits<float>::infinity();
  std::vector<float> a = {1, 2, NAN, infinite, 3}, b = {1.5f, 2, NAN, infinite, NAN}, bounds(5);
  bounds[1] = 7;
  element.widen(bounds.data(), a.data(), b.data(), a.size());
  CHECK(bounds == std::vector<float>{0.5f, 7, 0, 0, infinite});
}

TEST_CASE("Element::excess: largest distance, as a multiple of its bound") {
  CHECK(excess<float>("f32", {3, 4}, {3, 4}, {1, 1}) == 0);
  CHECK(excess<float>("f32", {3, 4}, {3.5f, 4.5f}, {0.5f, 0.25f}) == doctest::Approx(2));
  CHECK(excess<half>("f16", {half(3), half(4)}, {half(3), half(4.5f)}, {1, 1}) ==
        doctest::Approx(0.5).epsilon(0.01));
  CHECK(excess<float>("f32", {1000000, 0}, {1000000, 1}, {1, 0.01f}) ==
        doctest::Approx(100).epsilon(0.001));
}

TEST_CASE("Element::excess: without bounds, only rounding errors") {
  CHECK(excess<half>("f16", {half(1)}, {half(1 + 0x1p-10f)}, {}) <= 1);
  CHECK(excess<half>("f16", {half(1)}, {half(1 + 0x1p-9f)}, {}) > 1);
  CHECK(excess<float>("f32", {1}, {1 + 0x1p-21f}, {}) <= 1);
  CHECK(excess<float>("f32", {1}, {1 + 0x1p-20f}, {}) > 1);
  CHECK(excess<half>("f16", {half(0)}, {half(0x1p-24f)}, {}) <= 1);
  CHECK(std::isinf(excess<std::int32_t>("i32", {3, 4}, {3, 5}, {})));
  CHECK(excess<std::int32_t>("i32", {3, 4}, {3, 4}, {}) == 0);
}

TEST_CASE("Element::excess: NaN equals NaN, infinity equals infinity") {
  float nan = NAN, infinite = std::numeric_limits<float>::infinity();
  CHECK(excess<float>("f32", {nan, 1}, {-nan, 1}, {0, 0}) == 0);
  CHECK(excess<float>("f32", {infinite, 1}, {infinite, 1}, {0, 0}) == 0);
  CHECK(excess<float>("f32", {0.0f, 1}, {-0.0f, 1}, {0, 0}) == 0);
  CHECK(std::isinf(excess<float>("f32", {nan, 1}, {0, 1}, {9, 9})));
  CHECK(std::isinf(excess<float>("f32", {infinite, 1}, {1, 1}, {9, 9})));
  CHECK(std::isinf(excess<float>("f32", {infinite, 1}, {-infinite, 1}, {9, 9})));
  CHECK(excess<float>("f32", {nan, 1}, {0, 1}, {infinite, 0}) == 0);
}

TEST_CASE("Element::set: converts and writes a value") {
  half value;
  find_element("f16")->set(&value, 1.5);
  CHECK(float(value) == 1.5f);
  std::int8_t small;
  find_element("i8")->set(&small, -3);
  CHECK(small == -3);
}
