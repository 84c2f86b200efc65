// Tests passes/swap_operands.cpp. The folder swap_operands/ has more cases.

#include "analysis/matmul_loop.h"
#include "matmul_kernel.h"
#include "passes/swap_operands.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

const Schedule swapped = {.kind = Schedule::Kind::warp_specialized, .swap_operands = true};

const std::string product = R"(
  func @f(%A: ptr<f32>[64,8], %B: ptr<f32>[8,128], %C: ptr<f32>[64,128], %n: i32) {
    %nothing = constant {number = 0.0} : f32
    %start = splat %nothing : f32[64,128]
    %last, %sum = for_loop %n, %n, %start : i32, f32[64,128] {
      (%t: i32, %other: i32, %acc: f32[64,128])
      %a = load %A : f32[64,8]
      %b = load %B : f32[8,128]
      %d = dot %a, %b, %acc {precision = "tf32"} : f32[64,128]
      yield %other, %d
    }
    %twice = add %sum, %sum : f32[64,128]
    store %C, %twice
    return
  })";

} // namespace

TEST_CASE("swap_operands: zero start stays a recognizable zero") {
  ir::Function fn = parsed(product);
  swap_operands(fn, swapped);
  check_rules(fn);
  const ir::Value *start = find_matmul_loop(fn).found->loop->operand(2);
  CHECK(ir::is_zero(start));
  CHECK(start->type.shape == ir::Shape{128, 64});
}

TEST_CASE("swap_operands: result is a matmul loop with swapped loads") {
  for (bool transposed : {false, true}) {
    std::string kernel = product;
    if (transposed)
      kernel = with(with(kernel, "%B: ptr<f32>[8,128]", "%B: ptr<f32>[128,8]"),
                    "%b = load %B : f32[8,128]",
                    "%s = load %B : f32[128,8]\n %b = trans %s {perm = [1,0]} : f32[8,128]");
    ir::Function fn = parsed(kernel);
    swap_operands(fn, swapped);
    MatmulLoop found = *find_matmul_loop(fn).found;
    CHECK(found.carried == 1);
    CHECK(found.operands[0].load->operand(0)->name == "B");
    CHECK(found.operands[1].load->operand(0)->name == "A");
    CHECK(found.operands[0].perm ==
          (transposed ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{1, 0}));
    CHECK(found.operands[1].perm == std::vector<int64_t>{1, 0});
  }
}
