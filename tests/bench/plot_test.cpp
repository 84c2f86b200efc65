// Tests tests/bench/plot.cpp.

#include "plot.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace bench;

namespace {

size_t count(const std::string &text, const std::string &part) {
  size_t result = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    result++;
  return result;
}

} // namespace

TEST_CASE("grid_step: returns 1, 2 or 5 times a power of ten") {
  CHECK(grid_step(700) == 100);
  CHECK(grid_step(1200) == 200);
  CHECK(grid_step(45) == 10);
  CHECK(grid_step(25) == 5);
  CHECK(grid_step(4) == doctest::Approx(1));
}

TEST_CASE("svg: draws panels, curves and points") {
  Panel first = {"half NN", {{"ours", {{512, 50}, {1024, 200}}}, {"cuBLAS", {{512, 70}}}}};
  Panel second = {"half NT", {{"ours", {{512, 50}}}, {"cuBLAS", {}}}};
  std::string drawn = svg("a < b", "caption", {first, second});
  CHECK(count(drawn, "<circle") == 4);
  CHECK(count(drawn, "<polyline") == 3 + 2); // 3 curves and 2 in the legend
  CHECK(count(drawn, ">half NN<") == 1);
  CHECK(count(drawn, ">half NT<") == 1);
  CHECK(count(drawn, "ours 1024: 200") == 1);
  CHECK(count(drawn, "a &lt; b") == 1);
  CHECK(count(drawn, "<g ") == count(drawn, "</g>"));
  CHECK(drawn.substr(drawn.size() - 7) == "</svg>\n");
}

TEST_CASE("svg: contains no NaN without data or with one point") {
  CHECK(count(svg("title", "", {}), "nan") == 0);
  CHECK(count(svg("title", "", {{"panel", {{"ours", {}}}}}), "nan") == 0);
  CHECK(count(svg("title", "", {{"panel", {{"ours", {{512, 1}}}}}}), "nan") == 0);
}
