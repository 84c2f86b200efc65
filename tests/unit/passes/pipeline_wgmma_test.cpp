// Tests passes/pipeline_wgmma.cpp. The folder pipeline_wgmma/ has more cases.

#include "matmul_kernel.h"
#include "passes/lower_to_tma.h"
#include "passes/make_persistent.h"
#include "passes/pipeline_wgmma.h"
#include "passes/remove_dead_code.h"
#include "passes/select_mma.h"
#include "passes/specialize_warps.h"
#include "support/tile_ir.h"

#include <algorithm>
#include <string>
#include <vector>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// A schedule for which set_k_tile has run.
const Schedule by_tma = {.kind = Schedule::Kind::warp_specialized, .k_tile = 32};

ir::Function prepared(const std::string &text, const Schedule &schedule = by_tma) {
  ir::Function fn = parsed(text);
  select_mma(fn, *find_gpu("90a"), schedule);
  lower_to_tma(fn, schedule);
  return fn;
}

ir::Function pipelined(const std::string &text, const Schedule &schedule = by_tma) {
  ir::Function fn = prepared(text);
  specialize_warps(fn, *find_gpu("90a"), schedule);
  pipeline_wgmma(fn, schedule);
  remove_dead_code(fn);
  check_rules(fn);
  return fn;
}

// All operations with this opcode, in order.
std::vector<const ir::Op *> all(ir::Function &fn, ir::Opcode code) {
  std::vector<const ir::Op *> found;
  ir::for_each_op(*fn.body, [&](const ir::Op &op) {
    if (op.is(code))
      found.push_back(&op);
  });
  return found;
}

const ir::Op &first(ir::Function &fn, ir::Opcode code) {
  const std::vector<const ir::Op *> found = all(fn, code);
  REQUIRE(!found.empty());
  return *found[0];
}

} // namespace

TEST_CASE("pipeline_wgmma: transposed operand sets perms of wgmma") {
  std::string kernel = with(matmul_kernel(), "%at.a, %lda, %one", "%at.a, %one, %lda");
  kernel = with(kernel, "%a = load %va : f16[64,64]",
                "%stored = load %va : f16[64,64]\n %a = trans %stored {perm = [1,0]} : f16[64,64]");
  ir::Function fn = pipelined(kernel);
  CHECK(first(fn, ir::Opcode::wgmma_ss_).get(ir::attr::perms_) == std::vector<int64_t>{1, 0, 0, 1});
}

TEST_CASE("pipeline_wgmma: non-zero start accumulates from iteration 0") {
  ir::Function zero = pipelined(matmul_kernel());
  CHECK(first(zero, ir::Opcode::wgmma_ss_).operands.size() == 6);
  CHECK(value_named(zero, "sum")->op->is(ir::Opcode::wgmma_wait_));
  ir::Function half = pipelined(with(matmul_kernel(), "number = 0.0", "number = 0.5"));
  CHECK(first(half, ir::Opcode::wgmma_ss_).operands.size() == 5);
  CHECK_FALSE(contains(printed(half), "= undef"));
}

TEST_CASE("pipeline_wgmma: loop that may be empty starts from zeros") {
  ir::Function fn =
      pipelined(matmul_kernel(), {.kind = Schedule::Kind::warp_specialized, .k_tile = 0});
  CHECK(first(fn, ir::Opcode::wgmma_ss_).operands.size() == 5);
  CHECK_FALSE(contains(printed(fn), "= undef"));
  const ir::Op &wait = *value_named(fn, "sum")->op; // of the loop
  REQUIRE(wait.is(ir::Opcode::wgmma_wait_));
  CHECK(ir::is_zero(wait.operand(0)->op->operand(1)));
}

TEST_CASE("pipeline_wgmma: behind producer warps, the loop may be empty, so it starts from zeros") {
  const Schedule by_threads = {
      .kind = Schedule::Kind::warp_specialized, .producer_warps = 4, .k_tile = 64};
  ir::Function fn = prepared(matmul_kernel(), by_threads);
  specialize_warps(fn, *find_gpu("90a"), by_threads);
  pipeline_wgmma(fn, by_threads);
  check_rules(fn);
  CHECK(first(fn, ir::Opcode::wgmma_ss_).operands.size() == 5);
  CHECK_FALSE(contains(printed(fn), "= undef"));
}

TEST_CASE("pipeline_wgmma: releases the last stage in a persistent loop") {
  auto arrivals = [](bool in_rounds) {
    ir::Function fn = prepared(matmul_kernel());
    if (in_rounds)
      make_persistent(fn, by_tma);
    specialize_warps(fn, *find_gpu("90a"), by_tma);
    pipeline_wgmma(fn, by_tma);
    check_rules(fn);
    int found = 0;
    ir::for_each_op(*fn.body, [&](const ir::Op &op) { found += op.is(ir::Opcode::get_done_); });
    return found;
  };
  CHECK(arrivals(true) == 2);
  CHECK(arrivals(false) == 1);
}

TEST_CASE("pipeline_wgmma: nothing uses registers if wgmma_ss can read it") {
  for (const std::string &kernel :
       {matmul_kernel(), a_transposed(matmul_kernel()), b_transposed(matmul_kernel()),
        b_transposed(matmul_kernel(64, 64, 32, "f32"))}) {
    ir::Function fn = pipelined(kernel);
    CHECK(all(fn, ir::Opcode::wgmma_ss_).size() == 1);
    CHECK(all(fn, ir::Opcode::wgmma_rs_).empty());
    CHECK(all(fn, ir::Opcode::shared_load_).empty());
  }
}

TEST_CASE("pipeline_wgmma: wgmma_rs slices, up to 4 in flight") {
  struct {
    int k, slices, pending;
  } cases[] = {{8, 1, 0}, {16, 2, 1}, {32, 4, 3}, {64, 8, 3}};
  for (const auto &[k, slices, pending] : cases) {
    CAPTURE(k);
    ir::Function fn = pipelined(a_transposed(b_transposed(matmul_kernel(64, 64, k, "f32"))));
    std::vector<const ir::Op *> fetched = all(fn, ir::Opcode::shared_load_);
    std::vector<const ir::Op *> products = all(fn, ir::Opcode::wgmma_rs_);
    std::vector<const ir::Op *> waits = all(fn, ir::Opcode::wgmma_wait_);
    REQUIRE(fetched.size() == size_t(slices));
    REQUIRE(products.size() == size_t(slices));
    REQUIRE(waits.size() == size_t(slices) + 1); // one after the loop
    for (int i = 0; i < slices; i++) {
      CHECK(fetched[size_t(i)]->get(ir::attr::origin_) == std::vector<int64_t>{0, 8 * i});
      CHECK(fetched[size_t(i)]->result()->type.shape == ir::Shape{64, 8});
      CHECK(products[size_t(i)]->get(ir::attr::origin_) == std::vector<int64_t>{8 * i, 0});
      CHECK(products[size_t(i)]->operands.size() == (i == 0 ? 5 : 4));
      CHECK(waits[size_t(i)]->get(ir::attr::pending_) == pending);
    }
    CHECK(waits.back()->get(ir::attr::pending_) == 0);
  }
}

TEST_CASE("pipeline_wgmma: all wgmma_rs share one row order") {
  ir::Function fn = pipelined(a_transposed(b_transposed(matmul_kernel(128, 64, 32, "f32"))));
  std::vector<int64_t> rows = first(fn, ir::Opcode::wgmma_rs_).get(ir::attr::rows_);
  std::vector<int64_t> sorted = rows;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == std::vector<int64_t>{1, 2, 4, 8, 16, 32});
  for (ir::Opcode code : {ir::Opcode::wgmma_rs_, ir::Opcode::wgmma_wait_})
    for (const ir::Op *op : all(fn, code)) {
      CHECK(op->get(ir::attr::rows_) == rows);
      CHECK(op->get(ir::attr::warpgroups_) == std::vector<int64_t>{2, 1});
    }
}

TEST_CASE("pipeline_wgmma: with ping-pong, the turn ends before the wait for the last matmul") {
  const Schedule in_turn = {
      .kind = Schedule::Kind::warp_specialized, .consumer_groups = 2, .k_tile = 64};
  ir::Function fn = prepared(matmul_kernel(128, 64, 64), in_turn);
  make_persistent(fn, in_turn);
  specialize_warps(fn, *find_gpu("90a"), in_turn);
  pipeline_wgmma(fn, in_turn);
  check_rules(fn);
  const std::string text = printed(fn);
  const size_t turn = text.find("put_done %turns"), wait = text.find("{pending = 0");
  REQUIRE(turn != std::string::npos);
  REQUIRE(wait != std::string::npos);
  CHECK(turn < wait);
}
