// Tests passes/widen_steps.cpp.

#include "analysis/tensor_access.h"
#include "passes/remove_dead_code.h"
#include "passes/widen_steps.h"
#include "product_kernel.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

Structure with_step(int64_t step) { return {.specialized = true, .step = step, .name = ""}; }

void pass(ir::Function &fn, const Structure &structure) {
  widen_steps(fn, structure);
  remove_dead_code(fn);
}

// The function after the pass.
ir::Function widened(const std::string &text, int64_t step) {
  ir::Function fn = parsed(text);
  pass(fn, with_step(step));
  check_rules(fn);
  return fn;
}

const std::string kernel = R"(
  func @f(%A: ptr<f16>, %B: ptr<f16>, %C: ptr<f32>, %n: i32, %ld: i64) {
    %zero = constant {value = 0} : i64
    %one = constant {value = 1} : i64
    %deep = constant {value = 16} : i64
    %nothing = constant {number = 0.0} : f32
    %start = splat %nothing : f32[64,64]
    %sum = for_loop %n, %start : f32[64,64] {
      (%t: i32, %acc: f32[64,64])
      %t.wide = cast %t : i64
      %k = mul %t.wide, %deep : i64
      %va = view %A, %k, %ld, %one : view<f16>[64,16]
      %a = load %va : f16[64,16]
      %down = mul %k, %ld : i64
      %vb = view %B, %down, %ld, %one : view<f16>[16,64]
      %b = load %vb : f16[16,64]
      %d = dot %a, %b, %acc : f32[64,64]
      yield %d
    }
    %vc = view %C, %zero, %ld, %one : view<f32>[64,64]
    store %vc, %sum
    return
  })";

} // namespace

TEST_CASE("a step takes several of the source's, and masks what is behind the last of them") {
  CHECK(after(pass, kernel, with_step(32)) == text(R"(
    func @f(%A: ptr<f16>, %B: ptr<f16>, %C: ptr<f32>, %n: i32, %ld: i64) {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %nothing = constant {number = 0.0} : f32
      %start = splat %nothing : f32[64,64]
      %0 = constant {value = 2} : i32
      %1 = constant {value = 1} : i32
      %2 = add %n, %1 : i32
      %3 = div %2, %0 : i32
      %sum = for_loop %3, %start : f32[64,64] {
        (%t: i32, %acc: f32[64,64])
        %4 = constant {value = 32} : i64
        %5 = cast %t : i64
        %6 = mul %4, %5 : i64
        %7 = constant {value = 1} : i64
        %8 = view %A, %6, %ld, %7 : view<f16>[64,32]
        %9 = range {start = 0} : i32[32]
        %10 = constant {value = 16} : i32
        %11 = splat %10 : i32[32]
        %12 = udiv %9, %11 : i32[32]
        %13 = cast %12 : i64[32]
        %14 = cast %n : i64
        %15 = constant {value = -2} : i64
        %16 = cast %t : i64
        %17 = mul %15, %16 : i64
        %18 = add %14, %17 : i64
        %19 = splat %18 : i64[32]
        %20 = cmp %13, %19 {pred = "lt"} : i1[32]
        %21 = expand %20 {axis = 0} : i1[1,32]
        %22 = broadcast %21 : i1[64,32]
        %23 = constant {number = 0.0} : f16
        %24 = splat %23 : f16[64,32]
        %a = load %8, %22, %24 : f16[64,32]
        %25 = constant {value = 32} : i64
        %26 = mul %25, %ld : i64
        %27 = cast %t : i64
        %28 = mul %26, %27 : i64
        %29 = constant {value = 1} : i64
        %30 = view %B, %28, %ld, %29 : view<f16>[32,64]
        %31 = range {start = 0} : i32[32]
        %32 = constant {value = 16} : i32
        %33 = splat %32 : i32[32]
        %34 = udiv %31, %33 : i32[32]
        %35 = cast %34 : i64[32]
        %36 = cast %n : i64
        %37 = constant {value = -2} : i64
        %38 = cast %t : i64
        %39 = mul %37, %38 : i64
        %40 = add %36, %39 : i64
        %41 = splat %40 : i64[32]
        %42 = cmp %35, %41 {pred = "lt"} : i1[32]
        %43 = expand %42 {axis = 1} : i1[32,1]
        %44 = broadcast %43 : i1[32,64]
        %45 = constant {number = 0.0} : f16
        %46 = splat %45 : f16[32,64]
        %b = load %30, %44, %46 : f16[32,64]
        %d = dot %a, %b, %acc : f32[64,64]
        yield %d
      }
      %vc = view %C, %zero, %ld, %one : view<f32>[64,64]
      store %vc, %sum
      return
    })"));
}

TEST_CASE("nothing happens to steps that must stay the source's, nor in the plain structure") {
  CHECK(after(widen_steps, kernel, with_step(0)) == text(kernel));
  CHECK(after(widen_steps, kernel, Structure{}) == text(kernel));
}

TEST_CASE("factors end where the source's loop does, also if the steps are long enough") {
  for (int64_t step : {8, 16, 32}) {
    CAPTURE(step);
    ir::Function fn = widened(kernel, step);
    int64_t taken = std::max<int64_t>(step, 16);
    const ir::Value *trips = value_named(fn, "n"), *trip = value_named(fn, "t");
    Poly before = Poly::symbol(trip) * Poly::constant(taken) - // of K, and what is left of it
                  Poly::symbol(trips) * Poly::constant(16);
    for (const char *name : {"a", "b"}) {
      const ir::Op &load = *value_named(fn, name)->op;
      int k = name == std::string("a");
      CHECK(load.result()->type.shape[size_t(k)] == taken);
      REQUIRE(load.operands.size() == 3);
      CHECK(ir::is_zero(load.operand(2)));
      std::optional<std::vector<Bound>> bounds = bounds_of(load.operand(1), 2);
      REQUIRE(bounds);
      REQUIRE(bounds->size() == 1);
      CHECK((*bounds)[0].axis == k);
      CHECK((*bounds)[0].before == before);
    }
  }
}

TEST_CASE("both factors are as long as the step, along their own axis of K") {
  for (int64_t step : {32, 64, 128}) {
    CAPTURE(step);
    ir::Function fn = widened(kernel, step);
    CHECK(value_named(fn, "a")->type.shape == ir::Shape{64, step});
    CHECK(value_named(fn, "b")->type.shape == ir::Shape{step, 64});
    CHECK(value_named(fn, "d")->type.shape == ir::Shape{64, 64});
  }
  std::string transposed = with(kernel, "%va = view %A, %k, %ld, %one : view<f16>[64,16]",
                                "%va = view %A, %down, %ld, %one : view<f16>[16,64]");
  transposed = with(transposed, "%down = mul %k, %ld : i64", "");
  transposed = with(transposed, "%va =", "%down = mul %k, %ld : i64\n %va =");
  transposed = with(transposed, "%a = load %va : f16[64,16]",
                    "%s = load %va : f16[16,64]\n %a = trans %s {perm = [1,0]} : f16[64,16]");
  ir::Function fn = widened(transposed, 64);
  const ir::Op &dot = *value_named(fn, "d")->op;
  CHECK(dot.operand(0)->op->is(ir::Opcode::trans_));
  CHECK(dot.operand(0)->op->operand(0)->type.shape == ir::Shape{64, 64});
  CHECK(value_named(fn, "s")->op->is(ir::Opcode::load_));
}

TEST_CASE("a mask of the source's stays, for the longer step") {
  std::string masked = with(kernel, "%a = load %va", R"(
      %i = range {start = 0} : i32[64]
      %column = expand %i {axis = 1} : i32[64,1]
      %all = broadcast %column : i32[64,16]
      %limit = splat %n : i32[64,16]
      %on = cmp %all, %limit {pred = "lt"} : i1[64,16]
      %a = load %va, %on)");
  ir::Function fn = widened(masked, 64);
  const ir::Op &load = *value_named(fn, "a")->op;
  REQUIRE(load.operands.size() == 3);
  CHECK(load.operand(1)->op->is(ir::Opcode::and_)); // rows below %n, and K
  CHECK(ir::is_zero(load.operand(2)));
}
