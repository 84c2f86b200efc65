// The candidate schedules of a kernel, checked against the rules for all lists of candidates.

#pragma once

#include "schedule/candidates.h"
#include "support/tile_ir.h"
#include "unit/passes/matmul_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace tritonc::test {

/// A candidate: a schedule and its cost.
struct Found : Schedule {
  std::optional<Expr> cost;
  std::optional<BlockWork> work_of_a_block;
  std::optional<CopyingMatmul> copies;
};

/// `text`: tile IR. The last schedule is the baseline.
inline std::vector<Found> schedules(const std::string &text, const char *gpu = "90a") {
  ir::Function fn = parsed(text);
  std::string before = printed(fn);
  std::vector<Found> found;
  for (Candidate &candidate : candidate_schedules(fn, *find_gpu(gpu)))
    found.push_back({std::move(candidate.schedule), std::move(candidate.cost),
                     std::move(candidate.work), std::move(candidate.copies)});
  CHECK(printed(fn) == before);
  REQUIRE_FALSE(found.empty());
  for (const Found &schedule : found) {
    bool is_last = &schedule == &found.back();
    bool is_without_matmul = schedule.kind == Schedule::Kind::batched ||
                             schedule.kind == Schedule::Kind::program_per_warp || schedule.staged ||
                             schedule.iterations > 0 || schedule.cluster > 1;
    bool is_uniform = schedule.kind == Schedule::Kind::multistage_wgmma ||
                      schedule.kind == Schedule::Kind::multistage || is_last || // baseline
                      schedule.kind == Schedule::Kind::split_k_reduction ||
                      schedule.kind == Schedule::Kind::split_loop || is_without_matmul;
    CHECK(schedule.is_warp_specialized() == (find_gpu(gpu)->has_tensor_maps && !is_uniform));
    CHECK_FALSE((is_without_matmul && contains(text, " dot ")));
    if (schedule.is_first())
      CHECK((&schedule)[1].is_second());
    else if (!is_last)
      CHECK_FALSE((&schedule)[1].is_second());
    CHECK(schedule.is_baseline() == is_last);
  }
  return found;
}

/// A matmul whose load of A has more operands. STEP in `operations` becomes the K tile.
inline std::string masked(const std::string &operations, const std::string &operands, int step) {
  return with(matmul_kernel(128, 128, step), "%a = load %va",
              with(operations, "STEP", std::to_string(step)) + "\n %a = load %va, " + operands);
}

/// Each program reduces a row of N elements, `width` at a time, and stores the result.
inline std::string row_kernel(int width) {
  const std::string n = std::to_string(width), f32 = ": f32[" + n + "]", i32 = ": i32[" + n + "]";
  return "func @f(%x: ptr<f32>, %y: ptr<f32>, %N: i32) {\n"
         " %row = program_id {axis = 0} : i32\n"
         " %base = mul %row, %N : i32\n"
         " %first = addptr %x, %base : ptr<f32>\n"
         " %i = range {start = 0} " +
         i32 +
         "\n"
         " %px = splat %first : ptr<f32>[" +
         n +
         "]\n"
         " %p = addptr %px, %i : ptr<f32>[" +
         n +
         "]\n"
         " %zero = constant {number = 0.0} : f32\n"
         " %none = splat %zero " +
         f32 +
         "\n"
         " %up = constant {value = " +
         std::to_string(width - 1) +
         "} : i32\n"
         " %width = constant {value = " +
         n +
         "} : i32\n"
         " %more = add %N, %up : i32\n"
         " %iterations = div %more, %width : i32\n"
         " %sum = for_loop %iterations, %none " +
         f32 +
         " {\n"
         "  (%k: i32, %s" +
         f32 +
         ")\n"
         "  %step = mul %k, %width : i32\n"
         "  %steps = splat %step " +
         i32 +
         "\n"
         "  %q = addptr %p, %steps : ptr<f32>[" +
         n +
         "]\n"
         "  %left = sub %N, %step : i32\n"
         "  %lefts = splat %left " +
         i32 +
         "\n"
         "  %inside = cmp %i, %lefts {pred = \"lt\"} : i1[" +
         n +
         "]\n"
         "  %v = load %q, %inside, %none " +
         f32 +
         "\n"
         "  %e = exp %v " +
         f32 +
         "\n"
         "  %t = add %s, %e " +
         f32 +
         "\n"
         "  yield %t\n"
         " }\n"
         " %total = reduce %sum {axis = 0, op = \"add\"} : f32\n"
         " %to = addptr %y, %row : ptr<f32>\n"
         " store %to, %total\n"
         " return\n"
         "}";
}

/// Attention with tiles of 64 x 64 elements, and `iterations` of 64 keys each.
inline std::string attention_kernel(const std::string &iterations = "%n") {
  return R"(
    func @f(%Q: ptr<f16>, %K: ptr<f16>, %V: ptr<f16>, %O: ptr<f32>, %n: i32,
            %ld: i64 multiple_of 8, %scale: f32) {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %once = constant {value = 1} : i32
      %p = program_id {axis = 0} : i32
      %own = add %p, %once : i32
      %least = min %n, %own : i32
      %wide = constant {value = 64} : i64
      %p.wide = cast %p : i64
      %rows = mul %p.wide, %wide : i64
      %first = mul %rows, %ld : i64
      %at.q = view %Q, %first, %ld, %one : view<f16>[64,64]
      %q = load %at.q : f16[64,64]
      %low = constant {number = -3.4028234663852886e+38} : f32
      %lowest = splat %low : f32[64]
      %nothing = constant {number = 0.0} : f32
      %zeros = splat %nothing : f32[64]
      %none = splat %nothing : f32[64,64]
      %largest, %sum, %weighted = for_loop )" +
         iterations + R"(, %lowest, %zeros, %none : f32[64], f32[64], f32[64,64] {
        (%t: i32, %key: f32[64], %sum.1: f32[64], %weighted.1: f32[64,64])
        %t.wide = cast %t : i64
        %done = mul %t.wide, %wide : i64
        %at = mul %done, %ld : i64
        %at.k = view %K, %at, %one, %ld : view<f16>[64,64]
        %k = load %at.k : f16[64,64]
        %at.v = view %V, %at, %ld, %one : view<f16>[64,64]
        %v = load %at.v : f16[64,64]
        %score = dot %q, %k, %none : f32[64,64]
        %most = reduce %score {axis = 1, op = "max"} : f32[64]
        %larger = max %key, %most : f32[64]
        %is.none = cmp %larger, %lowest {pred = "eq"} : i1[64]
        %reference = select %is.none, %zeros, %larger : f32[64]
        %each = expand %reference {axis = 1} : f32[64,1]
        %all = broadcast %each : f32[64,64]
        %distance = sub %score, %all : f32[64,64]
        %scales = splat %scale : f32[64,64]
        %scaled = mul %distance, %scales : f32[64,64]
        %weight = exp2 %scaled : f32[64,64]
        %grown = sub %key, %larger : f32[64]
        %scales.1 = splat %scale : f32[64]
        %scaled.1 = mul %grown, %scales.1 : f32[64]
        %factor = exp2 %scaled.1 : f32[64]
        %old = mul %sum.1, %factor : f32[64]
        %term = reduce %weight {axis = 1, op = "add"} : f32[64]
        %next = add %old, %term : f32[64]
        %factor.1 = expand %factor {axis = 1} : f32[64,1]
        %factors = broadcast %factor.1 : f32[64,64]
        %old.1 = mul %weighted.1, %factors : f32[64,64]
        %half = cast %weight : f16[64,64]
        %next.1 = dot %half, %v, %old.1 : f32[64,64]
        yield %larger, %next, %next.1
      }
      %sum.2 = expand %sum {axis = 1} : f32[64,1]
      %sums = broadcast %sum.2 : f32[64,64]
      %result = div %weighted, %sums : f32[64,64]
      %at.o = view %O, %first, %ld, %one : view<f32>[64,64]
      store %at.o, %result
      return
    })";
}

/// The value of a cost on 132 SMs; `n`: that of all parameters. `programs`: along axis 0 of the grid,
/// and `others` along each other axis.
inline int64_t value_of(const Expr &expr, int64_t programs, int64_t n, int64_t others = 1) {
  auto operand = [&](size_t i) { return value_of(expr.operands[i], programs, n, others); };
  switch (expr.kind) {
  case Expr::Kind::constant:
    return expr.value;
  case Expr::Kind::parameter:
    return n;
  case Expr::Kind::programs:
    return expr.value == 0 ? programs : others;
  case Expr::Kind::num_sms:
    return 132;
  case Expr::Kind::add:
    return operand(0) + operand(1);
  case Expr::Kind::sub:
    return operand(0) - operand(1);
  case Expr::Kind::mul:
    return operand(0) * operand(1);
  case Expr::Kind::div:
    return operand(0) / operand(1);
  case Expr::Kind::ceil_div:
    return (operand(0) + operand(1) - 1) / operand(1);
  case Expr::Kind::rem:
    return operand(0) % operand(1);
  case Expr::Kind::min:
    return std::min(operand(0), operand(1));
  case Expr::Kind::max:
    return std::max(operand(0), operand(1));
  default:
    FAIL("an expression that costs have no use for");
    return 0;
  }
}

} // namespace tritonc::test
