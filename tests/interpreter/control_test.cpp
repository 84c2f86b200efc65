// Tests interpreter/control.cpp.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

using namespace tritonc::interpreter;
using namespace tritonc::test;

TEST_CASE("for_loop: carries values and counts from 0") {
  Ran ran("%a = load %p : f32[8]\n"
          "%s, %c = for_loop %n, %a, %zero : f32[8], i32 {\n(%t: i32, %b: f32[8], %d: i32)\n"
          "%e = add %b, %b : f32[8]\n %f = add %d, %t : i32\n yield %e, %f\n}\n"
          "%g = cast %c : f32\n %h = splat %g : f32[8]\n %k = add %s, %h : f32[8]\n store %q, %k");
  CHECK(ran.y() == std::vector<double>{3, 11, 19, 27, 35, 43, 51, 59});
}

TEST_CASE("for_loop: returns its operands when it has no iterations") {
  for (const char *iterations : {"0", "-2"}) {
    Ran ran("%a = load %p : f32[8]\n %m = constant {value = " + std::string(iterations) +
            "} : i32\n %s = for_loop %m, %a : f32[8] {\n(%t: i32, %b: f32[8])\n"
            "%e = add %b, %b : f32[8]\n yield %e\n}\n store %q, %s");
    CHECK(ran.y() == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
  }
}

TEST_CASE("while_loop: tests before each iteration") {
  Ran ran("%one = constant {value = 1} : i32\n"
          "%k, %s = while_loop %n, %zero : i32, i32 {\n(%k0: i32, %s0: i32)\n"
          "%go = cmp %k0, %zero {pred = \"gt\"} : i1\n condition %go\n} {\n(%k1: i32, %s1: i32)\n"
          "%s2 = add %s1, %k1 : i32\n %k2 = sub %k1, %one : i32\n yield %k2, %s2\n}\n"
          "%t = splat %s : i32[8]\n store %q, %t",
          "i32");
  CHECK(ran.y() == std::vector<double>(8, 6));
}

TEST_CASE("for_loop: swaps carried values") {
  Ran ran("%a = load %p : f32[8]\n %b = neg %a : f32[8]\n"
          "%c, %d = for_loop %n, %a, %b : f32[8], f32[8] {\n(%t: i32, %e: f32[8], %f: f32[8])\n"
          "yield %f, %e\n}\n store %q, %c");
  CHECK(ran.y() == std::vector<double>{0, -1, -2, -3, -4, -5, -6, -7});
}

TEST_CASE("if_else: runs one of its blocks") {
  auto branch = [](const std::string &pred) {
    Ran ran("%a = load %p : f32[8]\n %c = cmp %n, %zero {pred = \"" + pred +
            "\"} : i1\n %r = if_else %c : f32[8] {\n yield %a\n} {\n %b = add %a, %a : f32[8]\n"
            "store %p, %b\n yield %b\n}\n store %q, %r");
    // The store of the other block did not happen.
    CHECK(ran.memory[0].elements[1].number == (pred == "gt" ? 1 : 2));
    return ran.y();
  };
  CHECK(branch("gt") == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(branch("eq") == std::vector<double>{0, 2, 4, 6, 8, 10, 12, 14});
}

TEST_CASE("program_id, num_programs: results") {
  Launch launch;
  launch.grid = {2, 2, 2};
  Ran ran("%a = program_id {axis = 0} : i32\n %b = program_id {axis = 1} : i32\n"
          "%c = program_id {axis = 2} : i32\n %m = num_programs {axis = 1} : i32\n"
          "%d = mul %c, %m : i32\n %e = add %d, %b : i32\n %f = mul %e, %m : i32\n"
          "%g = add %f, %a : i32\n %h = addptr %y, %g : ptr<i32>\n store %h, %g",
          "i32", "", launch);
  CHECK(ran.y() == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(ran.result.steps > 8);
}
