// Tests passes/fold_add_into_dot.cpp.

#include "passes/fold_add_into_dot.h"
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
  CHECK(after(fold_add_into_dot, program(operations)) == text(program(operations)));
}

} // namespace

TEST_CASE("fold_add_into_dot: folds an add on either side") {
  std::string fused = "%d = dot %a, %b, %c {precision = \"tf32\"} : f32[16,16]\n store %p, %d";
  CHECK(after(fold_add_into_dot,
              program("%ab = dot %a, %b, %none {precision = \"tf32\"} : f32[16,16]\n"
                      "%d = add %c, %ab : f32[16,16]\n store %p, %d")) == text(program(fused)));
  CHECK(after(fold_add_into_dot,
              program("%ab = dot %a, %b, %none {precision = \"tf32\"} : f32[16,16]\n"
                      "%d = add %ab, %c : f32[16,16]\n store %p, %d")) == text(program(fused)));
}

TEST_CASE("fold_add_into_dot: adds one dot into the other") {
  CHECK(after(fold_add_into_dot, program("%ab = dot %a, %b, %none : f32[16,16]\n"
                                         "%ba = dot %b, %a, %none : f32[16,16]\n"
                                         "%d = add %ab, %ba : f32[16,16]\n store %p, %d")) ==
        text(program("%ab = dot %a, %b, %none : f32[16,16]\n"
                     "%d = dot %b, %a, %ab : f32[16,16]\n store %p, %d")));
}

TEST_CASE("fold_add_into_dot: sum of several dots becomes a chain") {
  CHECK(after(fold_add_into_dot, program("%ab = dot %a, %b, %none : f32[16,16]\n"
                                         "%s = add %c, %ab : f32[16,16]\n"
                                         "%ba = dot %b, %a, %none : f32[16,16]\n"
                                         "%d = add %s, %ba : f32[16,16]\n store %p, %d")) ==
        text(program("%s = dot %a, %b, %c : f32[16,16]\n"
                     "%d = dot %b, %a, %s : f32[16,16]\n store %p, %d")));
}

TEST_CASE("fold_add_into_dot: does nothing with an accumulator or other uses") {
  unchanged("%ab = dot %a, %b, %ones : f32[16,16]\n %d = add %c, %ab : f32[16,16]\n store %p, %d");
  unchanged("%ab = dot %a, %b, %none : f32[16,16]\n %d = add %c, %ab : f32[16,16]\n store %p, %ab");
  unchanged("%ab = dot %a, %b, %none : f32[16,16]\n %d = add %ab, %ab : f32[16,16]\n store %p, %d");
}

TEST_CASE("fold_add_into_dot: does nothing to other arithmetic") {
  unchanged("%ab = dot %a, %b, %none : f32[16,16]\n %d = sub %c, %ab : f32[16,16]\n store %p, %d");
  unchanged("%ab = dot %a, %b, %none : f32[16,16]\n %d = mul %c, %ab : f32[16,16]\n store %p, %d");
  unchanged("%d = add %c, %none : f32[16,16]\n store %p, %d");
}

TEST_CASE("fold_add_into_dot: does nothing if the dot is outside of the loop") {
  unchanged("%ab = dot %a, %b, %none : f32[16,16]\n"
            "%r = for_loop %n, %c : f32[16,16] {\n (%t: i32, %s: f32[16,16])\n"
            "%d = add %s, %ab : f32[16,16]\n yield %d\n}\n store %p, %r");
}
