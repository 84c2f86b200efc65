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
        %10 = cast %9 : i64[32]
        %11 = constant {value = 16} : i64
        %12 = cast %n : i64
        %13 = mul %11, %12 : i64
        %14 = constant {value = -32} : i64
        %15 = cast %t : i64
        %16 = mul %14, %15 : i64
        %17 = add %13, %16 : i64
        %18 = splat %17 : i64[32]
        %19 = cmp %10, %18 {pred = "lt"} : i1[32]
        %20 = expand %19 {axis = 0} : i1[1,32]
        %21 = broadcast %20 : i1[64,32]
        %22 = constant {number = 0.0} : f16
        %23 = splat %22 : f16[64,32]
        %a = load %8, %21, %23 : f16[64,32]
        %24 = constant {value = 32} : i64
        %25 = mul %24, %ld : i64
        %26 = cast %t : i64
        %27 = mul %25, %26 : i64
        %28 = constant {value = 1} : i64
        %29 = view %B, %27, %ld, %28 : view<f16>[32,64]
        %30 = range {start = 0} : i32[32]
        %31 = cast %30 : i64[32]
        %32 = constant {value = 16} : i64
        %33 = cast %n : i64
        %34 = mul %32, %33 : i64
        %35 = constant {value = -32} : i64
        %36 = cast %t : i64
        %37 = mul %35, %36 : i64
        %38 = add %34, %37 : i64
        %39 = splat %38 : i64[32]
        %40 = cmp %31, %39 {pred = "lt"} : i1[32]
        %41 = expand %40 {axis = 1} : i1[32,1]
        %42 = broadcast %41 : i1[32,64]
        %43 = constant {number = 0.0} : f16
        %44 = splat %43 : f16[32,64]
        %b = load %29, %42, %44 : f16[32,64]
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
