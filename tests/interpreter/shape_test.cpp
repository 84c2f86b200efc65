// Tests interpreter/shape.cpp.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

using namespace tritonc::test;

TEST_CASE("constants and ranges") {
  Ran ran("%c = constant {value = 5} : i32\n %d = splat %c : i32[8]\n"
          "%r = range {start = -2} : i32[8]\n %s = add %d, %r : i32[8]\n store %q, %s",
          "i32");
  CHECK(ran.y() == std::vector<double>{3, 4, 5, 6, 7, 8, 9, 10});
  Ran rounded("%c = constant {number = 2049.0} : f16\n %d = splat %c : f16[8]\n store %q, %d",
              "f16");
  CHECK(rounded.y()[0] == 2048);
}

TEST_CASE("an axis added, repeated") {
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

TEST_CASE("axes exchanged") {
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

TEST_CASE("a part of a tile") {
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
