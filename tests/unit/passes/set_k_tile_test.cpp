// Tests passes/set_k_tile.cpp.

#include "analysis/tensor_access.h"
#include "matmul_kernel.h"
#include "passes/remove_dead_code.h"
#include "passes/set_k_tile.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

// --- Shorter -------------------------------------------------------------------------------------

namespace {

std::string f32_kernel(const std::string &loads_of_a = "%a = load %va : f32[64,32]\n") {
  return with(R"(
  func @f(%A: ptr<f32>, %B: ptr<f32>, %C: ptr<f32>, %n: i32, %K: i32, %ld: i64) {
    %zero = constant {value = 0} : i64
    %one = constant {value = 1} : i64
    %nothing = constant {number = 0.0} : f32
    %start = splat %nothing : f32[64,64]
    %sum = for_loop %n, %start : f32[64,64] {
      (%t: i32, %acc: f32[64,64])
      %deep = constant {value = 32} : i64
      %t.wide = cast %t : i64
      %k = mul %deep, %t.wide : i64
      %va = view %A, %k, %ld, %one : view<f32>[64,32]
      LOAD
      %down = mul %k, %ld : i64
      %vb = view %B, %down, %ld, %one : view<f32>[32,64]
      %b = load %vb : f32[32,64]
      %d = dot %a, %b, %acc : f32[64,64]
      yield %d
    }
    %vc = view %C, %zero, %ld, %one : view<f32>[64,64]
    store %vc, %sum
    return
  })",
              "LOAD", loads_of_a);
}

void unchanged(const std::string &text_before, int64_t step) {
  CAPTURE(text_before);
  CHECK(after(set_k_tile, text_before, Schedule{.k_tile = step}) == text(text_before));
}

} // namespace

TEST_CASE("set_k_tile: divides a K tile into smaller K tiles") {
  CHECK(after(set_k_tile, f32_kernel(), Schedule{.k_tile = 16}) == text(R"(
  func @f(%A: ptr<f32>, %B: ptr<f32>, %C: ptr<f32>, %n: i32, %K: i32, %ld: i64) {
    %zero = constant {value = 0} : i64
    %one = constant {value = 1} : i64
    %nothing = constant {number = 0.0} : f32
    %start = splat %nothing : f32[64,64]
    %0 = constant {value = 2} : i32
    %1 = mul %n, %0 : i32
    %sum = for_loop %1, %start : f32[64,64] {
      (%t: i32, %acc: f32[64,64])
      %2 = constant {value = 16} : i64
      %3 = cast %t : i64
      %4 = mul %2, %3 : i64
      %5 = constant {value = 1} : i64
      %6 = view %A, %4, %ld, %5 : view<f32>[64,16]
      %a = load %6 : f32[64,16]
      %7 = constant {value = 16} : i64
      %8 = mul %7, %ld : i64
      %9 = cast %t : i64
      %10 = mul %8, %9 : i64
      %11 = constant {value = 1} : i64
      %12 = view %B, %10, %ld, %11 : view<f32>[16,64]
      %b = load %12 : f32[16,64]
      %d = dot %a, %b, %acc : f32[64,64]
      yield %d
    }
    %vc = view %C, %zero, %ld, %one : view<f32>[64,64]
    store %vc, %sum
    return
  })"));
}

TEST_CASE("set_k_tile: mask along K moves with the smaller K tile") {
  std::string result = after(
      set_k_tile,
      f32_kernel("%i = range {start = 0} : i32[32]\n %c32 = constant {value = 32} : i32\n"
                 "%past = mul %t, %c32 : i32\n %left = sub %K, %past : i32\n"
                 "%lefts = splat %left : i32[32]\n %in = cmp %i, %lefts {pred = \"lt\"} : i1[32]\n"
                 "%row = expand %in {axis = 0} : i1[1,32]\n"
                 "%mask = broadcast %row : i1[64,32]\n"
                 "%none = splat %nothing : f32[64,32]\n"
                 "%a = load %va, %mask, %none : f32[64,32]\n"),
      Schedule{.k_tile = 16});
  CAPTURE(result);
  CHECK(contains(result, "range {start = 0} : i32[16]"));
  CHECK(!contains(result, "[64,32]"));
  CHECK(!contains(result, "{value = 32}"));
}

TEST_CASE("set_k_tile: does nothing if the K tile is small enough or 0") {
  unchanged(f32_kernel(), 32);
  unchanged(f32_kernel(), 0);
}

TEST_CASE("set_k_tile: does nothing to a loop with print") {
  unchanged(f32_kernel("%a = load %va : f32[64,32]\n print %a {text = \"{}\"}\n"), 16);
}

TEST_CASE("set_k_tile: does nothing if loads skip or overlap along K") {
  unchanged(with(f32_kernel(), "{value = 32} : i64", "{value = 31} : i64"), 16);
}

// --- Longer --------------------------------------------------------------------------------------

namespace {

Schedule with_step(int64_t step) {
  return {.kind = Schedule::Kind::warp_specialized, .k_tile = step};
}

void pass(ir::Function &fn, const Schedule &schedule) {
  set_k_tile(fn, schedule);
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

TEST_CASE("set_k_tile: merges K tiles and masks the last one") {
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

TEST_CASE("set_k_tile: does nothing for K tile 0 or the baseline schedule") {
  CHECK(after(set_k_tile, kernel, with_step(0)) == text(kernel));
  CHECK(after(set_k_tile, kernel, Schedule{}) == text(kernel));
}

TEST_CASE("set_k_tile: bounds of operands follow the source loop") {
  for (int64_t step : {16, 32}) {
    CAPTURE(step);
    ir::Function fn = widened(kernel, step);
    const ir::Value *iterations = value_named(fn, "n"), *iteration = value_named(fn, "t");
    Poly before = Poly::symbol(iteration) * Poly::constant(step) - // start of this K tile minus K
                  Poly::symbol(iterations) * Poly::constant(16);
    for (const char *name : {"a", "b"}) {
      const ir::Op &load = *value_named(fn, name)->op;
      int k = name == std::string("a");
      CHECK(load.result()->type.shape[size_t(k)] == step);
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

TEST_CASE("set_k_tile: extends both operands along their K axis") {
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

TEST_CASE("set_k_tile: keeps the source mask of the longer K tile") {
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
  CHECK(load.operand(1)->op->is(ir::Opcode::and_)); // rows below %n, and the bound of K
  CHECK(ir::is_zero(load.operand(2)));
}
