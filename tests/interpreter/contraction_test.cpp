// Tests interpreter/contraction.cpp.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

using namespace tritonc::test;

namespace {

// x as a 2 x 4 tile times x as a 4 x 2 tile, plus c.
Ran product(const std::string &elem, const std::string &sum, const std::string &c,
            const std::string &attributes = "") {
  std::string constant = sum[0] == 'i' ? "value" : "number";
  return Ran("%t = load %p : " + elem + "[8]\n %a = reshape %t : " + elem +
                 "[2,4]\n %b = reshape %t : " + elem + "[4,2]\n %c0 = constant {" + constant +
                 " = " + c + "} : " + sum + "\n %c = splat %c0 : " + sum +
                 "[2,2]\n %d = dot %a, %b, %c " + attributes + ": " + sum +
                 "[2,2]\n %z = splat %y : ptr<" + sum +
                 ">[2,2]\n %j = range {start = 0} : i32[4]\n %k = reshape %j : i32[2,2]\n"
                 "%r = addptr %z, %k : ptr<" +
                 sum + ">[2,2]\n store %r, %d",
             elem, sum);
}

std::vector<double> first_four(const Ran &ran) {
  CHECK(ran.text() == "");
  std::vector<double> y = ran.y();
  y.resize(4);
  return y;
}

} // namespace

TEST_CASE("dot: matmul of tiles") {
  CHECK(first_four(product("f16", "f32", "0.0")) == std::vector<double>{28, 34, 76, 98});
  CHECK(first_four(product("f32", "f32", "1.0")) == std::vector<double>{29, 35, 77, 99});
  CHECK(first_four(product("i8", "i32", "0")) == std::vector<double>{28, 34, 76, 98});
  CHECK(first_four(product("f32", "f32", "0.0", "{precision = \"tf32\"} ")) ==
        std::vector<double>{28, 34, 76, 98});
}

TEST_CASE("dot: rounds the sum after every step") {
  CHECK(first_four(product("f16", "f16", "2048.0")) == std::vector<double>{2076, 2084, 2124, 2148});
  CHECK(first_four(product("i8", "i8", "100")) == std::vector<double>{-128, -122, -80, -58});
}

TEST_CASE("dot: unsigned operands") {
  // 0 to 7 times -1, or times 255.
  auto product = [](const std::string &attributes) {
    Ran ran("%t = load %p : i8[8]\n %a = reshape %t : i8[2,4]\n %m = constant {value = -1} : i8\n"
            "%b = splat %m : i8[4,2]\n %c0 = constant {value = 1} : i32\n"
            "%c = splat %c0 : i32[2,2]\n %d = dot %a, %b, %c " +
                attributes +
                ": i32[2,2]\n %z = splat %y : ptr<i32>[2,2]\n"
                "%j = range {start = 0} : i32[4]\n %k = reshape %j : i32[2,2]\n"
                "%r = addptr %z, %k : ptr<i32>[2,2]\n store %r, %d",
            "i8", "i32");
    return first_four(ran);
  };
  CHECK(product("") == std::vector<double>{-5, -5, -21, -21});
  CHECK(product("{unsigned = 1} ") == std::vector<double>{1531, 1531, 5611, 5611});
}

TEST_CASE("dot: f64 rounds product and sum once") {
  // (1 + 2^-52)^2 - (1 + 2^-51) is 2^-104.
  Ran ran("%u = constant {number = 1.0000000000000002} : f64\n %a = splat %u : f64[1,1]\n"
          "%s = constant {number = -1.0000000000000004} : f64\n %c = splat %s : f64[1,1]\n"
          "%d = dot %a, %a, %c : f64[1,1]\n %z = splat %y : ptr<f64>[1,1]\n store %z, %d",
          "f64", "f64");
  CHECK(ran.text() == "");
  CHECK(ran.y()[0] == 0x1p-104);
}

TEST_CASE("reduce: either axis") {
  auto reduced = [](const std::string &axis, const std::string &how) {
    std::string extent = axis == "0" ? "4" : "2";
    Ran ran("%t = load %p : f32[8]\n %a = reshape %t : f32[2,4]\n %r = reduce %a {axis = " + axis +
            ", op = \"" + how + "\"} : f32[" + extent + "]\n %z = splat %y : ptr<f32>[" + extent +
            "]\n %j = range {start = 0} : i32[" + extent + "]\n %s = addptr %z, %j : ptr<f32>[" +
            extent + "]\n store %s, %r");
    std::vector<double> y = ran.y();
    y.resize(size_t(std::stoi(extent)));
    return y;
  };
  CHECK(reduced("0", "add") == std::vector<double>{4, 6, 8, 10});
  CHECK(reduced("0", "max") == std::vector<double>{4, 5, 6, 7});
  CHECK(reduced("1", "add") == std::vector<double>{6, 22});
  CHECK(reduced("1", "min") == std::vector<double>{0, 4});
  CHECK(reduced("1", "mul") == std::vector<double>{0, 840});
}

TEST_CASE("scan: either axis, in the order of a balanced tree") {
  auto scanned = [](const std::string &axis, const std::string &how) {
    Ran ran("%t = load %p : f32[8]\n %a = reshape %t : f32[2,4]\n %r = scan %a {axis = " + axis +
            ", op = \"" + how + "\"} : f32[2,4]\n %f = reshape %r : f32[8]\n store %q, %f");
    return ran.y();
  };
  CHECK(scanned("0", "add") == std::vector<double>{0, 1, 2, 3, 4, 6, 8, 10});
  CHECK(scanned("1", "add") == std::vector<double>{0, 1, 3, 6, 4, 9, 15, 22});
  CHECK(scanned("1", "min") == std::vector<double>{0, 0, 0, 0, 4, 4, 4, 4});
  CHECK(scanned("0", "mul") == std::vector<double>{0, 1, 2, 3, 0, 5, 12, 21});
  // 1, then seven times 2^-24: sequential addition would stay 1.
  Ran ran("%one = constant {number = 1.0} : f32\n %small = constant {number = "
          "5.9604644775390625e-8} : f32\n"
          "%a = splat %one : f32[8]\n %b = splat %small : f32[8]\n"
          "%k = range {start = 0} : i32[8]\n %zi = constant {value = 0} : i32\n"
          "%z = splat %zi : i32[8]\n %c = cmp %k, %z {pred = \"eq\"} : i1[8]\n"
          "%v = select %c, %a, %b : f32[8]\n %r = scan %v {axis = 0, op = \"add\"} : f32[8]\n"
          "store %q, %r");
  CHECK(ran.y()[1] == 1);
  CHECK(ran.y()[7] == 1 + 3 * 0x1p-23);
}
