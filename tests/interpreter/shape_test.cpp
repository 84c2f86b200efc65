// Tests interpreter/shape.cpp.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

using namespace tritonc::test;

TEST_CASE("constant, range: values") {
  Ran ran("%c = constant {value = 5} : i32\n %d = splat %c : i32[8]\n"
          "%r = range {start = -2} : i32[8]\n %s = add %d, %r : i32[8]\n store %q, %s",
          "i32");
  CHECK(ran.y() == std::vector<double>{3, 4, 5, 6, 7, 8, 9, 10});
  Ran rounded("%c = constant {number = 2049.0} : f16\n %d = splat %c : f16[8]\n store %q, %d",
              "f16");
  CHECK(rounded.y()[0] == 2048);
}

TEST_CASE("in_bounds: any limits") {
  auto on = [](int rows, int columns) {
    Ran ran(
        "%r = constant {value = " + std::to_string(rows) +
            "} : i64\n %c = constant {value = " + std::to_string(columns) +
            "} : i64\n %m = in_bounds %r, %c : i1[2,4]\n %j = cast %m {unsigned = 1} : i32[2,4]\n"
            "%f = reshape %j : i32[8]\n store %q, %f",
        "i32");
    CHECK(ran.text() == "");
    return ran.y();
  };
  CHECK(on(2, 4) == std::vector<double>(8, 1));
  CHECK(on(100, 100) == std::vector<double>(8, 1));
  CHECK(on(2, 3) == std::vector<double>{1, 1, 1, 0, 1, 1, 1, 0});
  CHECK(on(1, 4) == std::vector<double>{1, 1, 1, 1, 0, 0, 0, 0});
  CHECK(on(0, 4) == std::vector<double>(8, 0));
  CHECK(on(2, -5) == std::vector<double>(8, 0));
}

TEST_CASE("no_hoist: returns its operand") {
  Ran ran(
      "%c = constant {value = -5} : i32\n %p0 = no_hoist %c : i32\n %w = constant {value = 9} : "
      "i64\n %p1 = no_hoist %w : i64\n %p2 = cast %p1 : i32\n %s = add %p0, %p2 : i32\n"
      "%d = splat %s : i32[8]\n store %q, %d",
      "i32");
  CHECK(ran.y() == std::vector<double>(8, 4));
}

TEST_CASE("expand, broadcast: add and repeat an axis") {
  auto sums = [](const std::string &axis, const std::string &one, const std::string &shape) {
    return Ran("%r = range {start = 0} : i32[" + std::string(axis == "0" ? "4" : "2") +
                   "]\n %e = expand %r {axis = " + axis + "} : i32[" + one +
                   "]\n %b = broadcast %e : i32[" + shape +
                   "]\n %f = reshape %b : i32[8]\n store %q, %f",
               "i32")
        .y();
  };
  CHECK(sums("0", "1,4", "2,4") == std::vector<double>{0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(sums("1", "2,1", "2,4") == std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1});
}

TEST_CASE("trans: permutes axes") {
  auto exchanged = [](const std::string &from, const std::string &perm, const std::string &to) {
    return Ran("%a = load %p : f32[8]\n %r = reshape %a : f32[" + from +
               "]\n %t = trans %r {perm = [" + perm + "]} : f32[" + to +
               "]\n %f = reshape %t : f32[8]\n store %q, %f")
        .y();
  };
  CHECK(exchanged("2,4", "1,0", "4,2") == std::vector<double>{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(exchanged("1,2,4", "2,0,1", "4,1,2") == std::vector<double>{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(exchanged("2,4", "0,1", "2,4") == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("extract: part of a tile") {
  auto part = [](const std::string &from, const std::string &origin, const std::string &to) {
    return Ran("%a = load %p : f32[8]\n %r = reshape %a : f32[" + from +
               "]\n %e = extract %r {origin = [" + origin + "]} : f32[" + to +
               "]\n %f = reshape %e : f32[4]\n %n4 = range {start = 0} : i32[4]\n"
               "%y4 = splat %y : ptr<f32>[4]\n %q4 = addptr %y4, %n4 : ptr<f32>[4]\n"
               "store %q4, %f")
        .y();
  };
  auto is = [](std::vector<double> y, std::vector<double> first_four) {
    y.resize(4);
    return y == first_four;
  };
  CHECK(is(part("2,4", "0,2", "2,2"), {2, 3, 6, 7}));
  CHECK(is(part("2,4", "1,0", "1,4"), {4, 5, 6, 7}));
  CHECK(is(part("4,2", "2,0", "2,2"), {4, 5, 6, 7}));
  CHECK(is(part("2,2,2", "0,0,1", "2,2,1"), {1, 3, 5, 7}));
}

TEST_CASE("funnel_shift: elements of two groups") {
  auto shifted = [](const std::string &distance, const std::string &vector) {
    return Ran("%a = load %p : f32[8]\n %k = constant {value = " + distance +
               "} : i32\n %b = neg %a : f32[8]\n %s = funnel_shift %a, %b, %k {vector = " + vector +
               "} : f32[8]\n store %q, %s")
        .y();
  };
  CHECK(shifted("0", "4") == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(shifted("1", "4") == std::vector<double>{1, 2, 3, -0.0, 5, 6, 7, -4});
  CHECK(shifted("3", "4") == std::vector<double>{3, -0.0, -1, -2, 7, -4, -5, -6});
  CHECK(shifted("2", "8") == std::vector<double>{2, 3, 4, 5, 6, 7, -0.0, -1});
}

TEST_CASE("gather: index modulo the extent") {
  auto gathered = [](const std::string &from, const std::string &axis, const std::string &start,
                     const std::string &shape) {
    return Ran("%a = load %p : f32[8]\n %r = reshape %a : f32[" + from +
               "]\n %k = range {start = " + start + "} : i32[8]\n %j = reshape %k : i32[" + shape +
               "]\n %g = gather %r, %j {axis = " + axis + "} : f32[" + shape +
               "]\n %f = reshape %g : f32[8]\n store %q, %f")
        .y();
  };
  CHECK(gathered("8", "0", "0", "8") == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(gathered("8", "0", "3", "8") == std::vector<double>{3, 4, 5, 6, 7, 0, 1, 2});
  CHECK(gathered("8", "0", "-1", "8") == std::vector<double>{7, 0, 1, 2, 3, 4, 5, 6});
  CHECK(gathered("2,4", "0", "0", "2,4") == std::vector<double>{0, 5, 2, 7, 0, 5, 2, 7});
  CHECK(gathered("4,2", "0", "1", "4,2") == std::vector<double>{2, 5, 6, 1, 2, 5, 6, 1});
}
