// Tests runtime/tuner/values.cpp: random values for measurements, and the distance between two
// results.

#include "values.h"

#include <tritonc/numbers.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace tritonc;
using tuner::Element;
using tuner::find_element;

namespace {

template <typename T> double distance(const char *type, std::vector<T> a, std::vector<T> b) {
  return find_element(type)->distance(a.data(), b.data(), a.size());
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

TEST_CASE("Element::distance: relative for floats, exact for integers") {
  CHECK(distance<float>("f32", {3, 4}, {3, 4}) == 0);
  CHECK(distance<float>("f32", {3, 4}, {3, 4.5}) == doctest::Approx(0.1));
  CHECK(distance<half>("f16", {half(3), half(4)}, {half(3), half(4.5f)}) == doctest::Approx(0.1));
  CHECK(distance<std::int32_t>("i32", {3, 4}, {3, 4}) == 0);
  CHECK(std::isinf(distance<std::int32_t>("i32", {3, 4}, {3, 5})));
  CHECK(std::isinf(distance<float>("f32", {0, 0}, {0, 1})));
}

TEST_CASE("Element::distance: NaN equals NaN, infinity equals infinity") {
  float nan = NAN, infinite = std::numeric_limits<float>::infinity();
  CHECK(distance<float>("f32", {nan, 1}, {-nan, 1}) == 0);
  CHECK(distance<float>("f32", {infinite, 1}, {infinite, 1}) == 0);
  CHECK(std::isinf(distance<float>("f32", {nan, 1}, {0, 1})));
  CHECK(std::isinf(distance<float>("f32", {infinite, 1}, {1, 1})));
  CHECK(std::isinf(distance<float>("f32", {infinite, 1}, {-infinite, 1})));
}

TEST_CASE("Element::set: converts and writes a value") {
  half value;
  find_element("f16")->set(&value, 1.5);
  CHECK(float(value) == 1.5f);
  std::int8_t small;
  find_element("i8")->set(&small, -3);
  CHECK(small == -3);
}
