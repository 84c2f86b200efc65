// Tests passes/set_k_tile.cpp. The folder set_k_tile/ has more cases.

#include "analysis/tensor_access.h"
#include "matmul_kernel.h"
#include "passes/remove_dead_code.h"
#include "passes/set_k_tile.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

// The function after the pass.
ir::Function widened(const std::string &text, int64_t step) {
  ir::Function fn = parsed(text);
  set_k_tile(fn, {.kind = Schedule::Kind::warp_specialized, .k_tile = step});
  remove_dead_code(fn);
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
