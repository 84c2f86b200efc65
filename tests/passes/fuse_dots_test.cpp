// Tests passes/fuse_dots.cpp.

#include "passes/fuse_dots.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::string program(const std::string &operations) {
  return R"(
    func @f(%a: f16[16,16], %b: f16[16,16], %c: f32[16,16], %n: i32, %p: ptr<f32>[16,16]) {
      %zero = constant {number = 0.0} : f32
      %one = constant {number = 1.0} : f32
      %none = splat %zero : f32[16,16]
      %ones = splat %one : f32[16,16]
      )" +
         operations + "\n return\n}";
}

void unchanged(const std::string &operations) {
  CAPTURE(operations);
  CHECK(after(fuse_dots, program(operations)) == text(program(operations)));
}

} // namespace

TEST_CASE("a product that is added is accumulated, whichever side it is on") {
  std::string fused = "%d = dot %a, %b, %c {precision = \"tf32\"} : f32[16,16]\n store %p, %d";
  CHECK(after(fuse_dots, program("%ab = dot %a, %b, %none {precision = \"tf32\"} : f32[16,16]\n"
                                 "%d = add %c, %ab : f32[16,16]\n store %p, %d")) ==
        text(program(fused)));
  CHECK(after(fuse_dots, program("%ab = dot %a, %b, %none {precision = \"tf32\"} : f32[16,16]\n"
                                 "%d = add %ab, %c : f32[16,16]\n store %p, %d")) ==
        text(program(fused)));
}

TEST_CASE("of two products one accumulates into the other") {
  CHECK(after(fuse_dots, program("%ab = dot %a, %b, %none : f32[16,16]\n"
                                 "%ba = dot %b, %a, %none : f32[16,16]\n"
                                 "%d = add %ab, %ba : f32[16,16]\n store %p, %d")) ==
        text(program("%ab = dot %a, %b, %none : f32[16,16]\n"
                     "%d = dot %b, %a, %ab : f32[16,16]\n store %p, %d")));
}

TEST_CASE("sums of several products become a chain") {
  CHECK(after(fuse_dots, program("%ab = dot %a, %b, %none : f32[16,16]\n"
                                 "%s = add %c, %ab : f32[16,16]\n"
                                 "%ba = dot %b, %a, %none : f32[16,16]\n"
                                 "%d = add %s, %ba : f32[16,16]\n store %p, %d")) ==
        text(program("%s = dot %a, %b, %c : f32[16,16]\n"
                     "%d = dot %b, %a, %s : f32[16,16]\n store %p, %d")));
}

TEST_CASE("nothing happens to a product with a sum of its own, or with other uses") {
  unchanged("%ab = dot %a, %b, %ones : f32[16,16]\n %d = add %c, %ab : f32[16,16]\n store %p, %d");
  unchanged("%ab = dot %a, %b, %none : f32[16,16]\n %d = add %c, %ab : f32[16,16]\n store %p, %ab");
  unchanged("%ab = dot %a, %b, %none : f32[16,16]\n %d = add %ab, %ab : f32[16,16]\n store %p, %d");
}

TEST_CASE("nothing happens to other arithmetic") {
  unchanged("%ab = dot %a, %b, %none : f32[16,16]\n %d = sub %c, %ab : f32[16,16]\n store %p, %d");
  unchanged("%ab = dot %a, %b, %none : f32[16,16]\n %d = mul %c, %ab : f32[16,16]\n store %p, %d");
  unchanged("%d = add %c, %none : f32[16,16]\n store %p, %d");
}

TEST_CASE("a product from outside of a loop is not computed anew in every iteration") {
  unchanged("%ab = dot %a, %b, %none : f32[16,16]\n"
            "%r = for_loop %n, %c : f32[16,16] {\n (%t: i32, %s: f32[16,16])\n"
            "%d = add %s, %ab : f32[16,16]\n yield %d\n}\n store %p, %r");
}
