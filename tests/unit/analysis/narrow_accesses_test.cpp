// Tests analysis/narrow_accesses.cpp.

#include "analysis/narrow_accesses.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// Row `row` of x, with the leading dimension ldx, is %vx : view<f16>[64]; that of y is %vy. %m masks
// the columns from n on. With `loop`, the operations run in a loop over blocks of 64 columns.
Function function(const std::string &operations, bool loop = false,
                  const std::string &x = "%x: ptr<f16>") {
  std::string rows = R"(
      %row = cast %pid : i64
      %one = constant {value = 1} : i64
      %wx = cast %ldx : i64
      %wy = cast %ldy : i64
      %ox = mul %wx, %row : i64
      %oy = mul %wy, %row : i64
      %block = constant {value = 64} : i64
      %i = range {start = 0} : i32[64]
      %width = constant {value = 64} : i32
      )",
              views = R"(
      %t64 = cast %t : i64
      %first = mul %block, %t64 : i64
      %px = add %ox, %first : i64
      %py = add %oy, %first : i64
      %vx = view %x, %px, %one : view<f16>[64]
      %vy = view %y, %py, %one : view<f16>[64]
      %done = mul %t, %width : i32
      %left = sub %n, %done : i32
      %limit = splat %left : i32[64]
      %m = cmp %i, %limit {pred = "lt"} : i1[64]
      )";
  std::string body = loop ? "for_loop %count {\n(%t: i32)\n" + views + operations + "\nyield\n}"
                          : "%t = constant {value = 0} : i32\n" + views + operations;
  return parsed("func @f(" + x +
                ", %y: ptr<f16>, %f: ptr<f32>, %n: i32, %ldx: i32, %ldy: i32 multiple_of 8, "
                "%count: i32) {\n%pid = program_id {axis = 0} : i32\n" +
                rows + body + "\nreturn\n}");
}

std::string divisors(Function fn) {
  std::string before = printed(fn), text;
  for (const Divisor &one : widening_divisors(fn))
    text += (text.empty() ? "" : ", ") + one.parameter + " % " + std::to_string(one.number);
  CHECK(printed(fn) == before);
  return text;
}

} // namespace

TEST_CASE("widening_divisors: leading dimension, limit of the mask, and alignment") {
  const char *copy = "%e = load %vx : f16[64]\n store %vy, %e";
  const char *masked = "%e = load %vx, %m : f16[64]\n store %vy, %e, %m";
  CHECK(divisors(function(copy)) == "ldx % 8");
  CHECK(divisors(function(masked)) == "ldx % 8, n % 8");
  CHECK(divisors(function(masked, true)) == "ldx % 8, n % 8");
  CHECK(divisors(function(copy, false, "%x: ptr<f16> aligned 2")) == "x % 16, ldx % 8");
}

TEST_CASE("widening_divisors: none if the accesses are wide, or cannot be") {
  CHECK(divisors(function("%e = load %vy : f16[64]\n store %vy, %e")) == "");
  CHECK(divisors(function("%v = view %x, %one, %one : view<f16>[64]\n %e = load %v : f16[64]\n"
                          "store %vy, %e")) == "");
  CHECK(divisors(function("%v = view %x, %ox, %wx : view<f16>[64]\n %e = load %v : f16[64]\n"
                          "store %vy, %e")) == "");
  CHECK(divisors(function("")) == "");
}

TEST_CASE("widening_divisors: none if few bytes become wider") {
  // One row, beside 16 loads of y in a loop.
  std::string loads = "%e = load %vx : f16[64]\n for_loop %count {\n(%u: i32)\n"
                      "%g = load %vy : f16[64]\n store %vy, %g\n yield\n}\n store %vx, %e";
  CHECK(divisors(function(loads)) == "");
  // An access of a sixteenth of the bytes or more counts, but not alone.
  std::string more = "%e = load %vx : f16[64]\n %g = load %vy : f16[64]\n %h = load %vy : f16[64]\n"
                     "store %vy, %e\n store %vy, %g\n store %vy, %h";
  CHECK(divisors(function(more)) == "");
  CHECK(divisors(function("%e = load %vx : f16[64]\n store %vx, %e\n"
                          "%g = load %vy : f16[64]\n store %vy, %g")) == "ldx % 8");
}

TEST_CASE("widening_divisors: the largest number of a parameter") {
  // float needs multiples of 4, half multiples of 8.
  CHECK(divisors(function("%vf = view %f, %ox, %one : view<f32>[64]\n %e = load %vf : f32[64]\n"
                          "store %vf, %e")) == "ldx % 4");
  CHECK(divisors(function("%vf = view %f, %ox, %one : view<f32>[64]\n %e = load %vf : f32[64]\n"
                          "store %vf, %e\n %g = load %vx : f16[64]\n store %vy, %g")) == "ldx % 8");
}

TEST_CASE("parameters_that_widen: only what may be assumed") {
  Function fn =
      function("%e = load %vx, %m : f16[64]\n store %vy, %e", false, "%x: ptr<f16> aligned 2");
  const Op *load = value_named(fn, "e")->op;
  auto names = [&](int64_t elements, Assumable assumable) {
    std::string text;
    for (const Parameter *one : parameters_that_widen(*load, elements, assumable, fn))
      text += one->name + " ";
    return text;
  };
  CHECK(names(8, Assumable::all) == "x ldx n ");
  CHECK(names(8, Assumable::address) == ""); // neither the mask nor the pointer
  CHECK(names(1, Assumable::all) == "");     // it is as wide as that
  CHECK(widest_elements(load->operand(0)) == 8);
}
