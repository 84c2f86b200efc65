// Schedules in which all warps of a block do the same. See multistage.h.
//
// Method: as in warp_specialized.cpp, each schedule is tried on a clone, here by the passes up to
// pipeline_loops.
//
// Tested by tests/unit/schedule/candidates_test.cpp and gathered_wgmma_test.cpp.

#include "schedule/multistage.h"

#include "analysis/layouts.h"
#include "passes/coarsen_programs.h"
#include "passes/pipeline_loops.h"
#include "passes/prefetch_through_registers.h"
#include "passes/remove_dead_code.h"
#include "passes/select_mma.h"
#include "passes/set_k_tile.h"
#include "passes/stage_operands.h"
#include "schedule/cost_formulas.h"
#include "schedule/legality.h"
#include "target/cost_tables.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// Whether cp.async copies all operands to shared memory, with at least three stages, and tensor
// cores multiply them. Copies through registers would need too many registers.
bool has_enough_stages(Function &fn, const Gpu &gpu, const Schedule &schedule) {
  constexpr int64_t min_stages = 3;
  select_mma(fn, gpu, schedule);
  stage_operands(fn);
  remove_dead_code(fn);
  pipeline_loops(fn, gpu, schedule);
  bool fits = true;
  for_each_op(*fn.body, [&](const Op &op) {
    fits &= !op.is(Opcode::load_) || op.operand(0)->type.is_scalar();
    if (op.is(Opcode::dot_))
      fits &= schedule.kind == Schedule::Kind::multistage_wgmma || dot_instruction(op).tensor_core;
    if (op.is(Opcode::shared_alloc_))
      fits &= op.result()->type.shape[0] >= min_stages;
  });
  return fits;
}

// A clone of the function with the K tile and the coarsening of `schedule`; nothing if it cannot
// have them.
std::optional<Function> with_tile(const MatmulSetting &setting, const Schedule &schedule) {
  Function tried = clone(setting.fn);
  set_k_tile(tried, schedule);
  if (!schedule.coarsening.empty() && !try_coarsening(tried, schedule.coarsening))
    return std::nullopt;
  remove_dead_code(tried);
  return tried;
}

// Whether all copies have 16 bytes, as in the measurements for CostTables::multistage_wgmma and
// cost_of_one_block_per_sm.
bool copies_whole_chunks(Function &fn) {
  constexpr int64_t chunk_bytes = 16;
  bool found = true;
  for_each_op(*fn.body, [&](const Op &op) {
    if (op.is(Opcode::async_copy_))
      found &= op.get(attr::vector_) * bytes_of(op.operand(1)->type.elem) == chunk_bytes;
  });
  return found;
}

bool is_one_program(const std::vector<int64_t> &coarsening) {
  return std::all_of(coarsening.begin(), coarsening.end(),
                     [](int64_t times) { return times == 1; });
}

} // namespace

std::optional<Candidate> coarsened_schedule(const MatmulSetting &setting, const Problem &problem,
                                            const Gpu &gpu) {
  // Measured: without coarsening, 8-bit operands are as fast, and tf32 up to 6 % faster.
  constexpr int64_t bytes = 2;
  std::optional<std::vector<int64_t>> coarsening =
      coarsening_of(setting, gpu.costs->coarsened.tile);
  if (!coarsening || !division_of(setting, gpu.costs->coarsened.tile).empty() ||
      is_one_program(*coarsening) || problem.bytes != bytes)
    return std::nullopt;
  int64_t longest = setting.row_of_k.value_or(0);
  for (int64_t step : {longest, longest / 2}) {
    Schedule schedule{
        .kind = Schedule::Kind::multistage, .coarsening = *coarsening, .k_tile = step};
    std::optional<Function> tried = with_tile(setting, schedule);
    if (!tried)
      return std::nullopt;
    schedule.tile = block_tile(gpu.costs->coarsened.tile, *tried);
    if (has_enough_stages(*tried, gpu, schedule)) {
      Expr cost = cost_of(schedule, gpu.costs->coarsened, problem);
      return Candidate{.schedule = std::move(schedule), .cost = std::move(cost)};
    }
  }
  return std::nullopt;
}

std::optional<Candidate> multistage_wgmma_schedule(const MatmulSetting &setting,
                                                   const Problem &problem, const Gpu &gpu) {
  const Tile &tile = gpu.costs->multistage_wgmma.tile;
  std::optional<std::vector<int64_t>> coarsening = coarsening_of(setting, tile);
  if (!coarsening || !division_of(setting, tile).empty() || !setting.row_of_k || problem.bytes != 2)
    return std::nullopt;
  Schedule schedule{.kind = Schedule::Kind::multistage_wgmma,
                    .coarsening = *coarsening,
                    .k_tile = *setting.row_of_k * tile.k_rows};
  std::optional<Function> tried = with_tile(setting, schedule);
  if (!tried)
    return std::nullopt;
  MatmulLoop matmul = *find_matmul_loop(*tried).found;
  schedule.tile = block_tile(tile, *tried);
  if (!fits_wgmma(*matmul.dot) || !fits_panel(*tried, matmul, 0) ||
      !fits_panel(*tried, matmul, 1) || !has_enough_stages(*tried, gpu, schedule) ||
      !copies_whole_chunks(*tried))
    return std::nullopt;
  Expr cost = cost_of(schedule, gpu.costs->multistage_wgmma, problem);
  return Candidate{.schedule = std::move(schedule), .cost = std::move(cost)};
}

std::optional<Candidate> wgmma_schedule(const Function &canonical, const Gpu &gpu) {
  Schedule schedule{.kind = Schedule::Kind::multistage_wgmma};
  if (!gpu.has_wgmma)
    return std::nullopt;
  Function tried = clone(canonical);
  select_mma(tried, gpu, schedule);
  bool found = false;
  for_each_op(*tried.body, [&](const Op &op) {
    found |= op.is(Opcode::dot_) && op.get(attr::instruction_) == "wgmma" && op.parent->parent;
  });
  return found ? std::optional(Candidate{.schedule = schedule}) : std::nullopt;
}

std::optional<Candidate> gathered_wgmma_schedule(const MatmulSetting &setting,
                                                 const std::optional<Problem> &problem,
                                                 const Gpu &gpu) {
  std::optional<Candidate> candidate = wgmma_schedule(setting.fn, gpu);
  if (!candidate)
    return std::nullopt;
  Function tried = clone(setting.fn);
  if (!has_enough_stages(tried, gpu, candidate->schedule) || !copies_whole_chunks(tried))
    return std::nullopt;
  if (problem) {
    const int64_t step = setting.matmul.dot->operand(0)->type.shape[1];
    candidate->copies = {setting.accumulator(), step, *problem, &gpu.costs->gathered};
    candidate->cost = cost_of_copies(*candidate->copies, 32 * tried.warps, number(1));
  }
  return candidate;
}

std::optional<Candidate> one_block_per_sm_schedule(const MatmulSetting &setting,
                                                   const Problem &problem, const Gpu &gpu) {
  constexpr int64_t rows_of_step = 2, rows_of_wgmma = 64;
  const Shape &accumulator = setting.accumulator();
  if (!setting.row_of_k || problem.bytes != 2 || accumulator[0] >= rows_of_wgmma)
    return std::nullopt;
  Schedule schedule{.kind = Schedule::Kind::multistage, .k_tile = *setting.row_of_k * rows_of_step};
  Function tried = *with_tile(setting, schedule);
  schedule.tile = block_tile({accumulator[0], accumulator[1], rows_of_step}, tried);
  if (!has_enough_stages(tried, gpu, schedule) || !copies_whole_chunks(tried))
    return std::nullopt;
  Expr cost = cost_of_one_block_per_sm(accumulator, schedule.k_tile, problem);
  return Candidate{.schedule = std::move(schedule), .cost = std::move(cost)};
}

bool copies_through_registers(const MatmulSetting &setting, const Gpu &gpu) {
  Function tried = clone(setting.fn);
  select_mma(tried, gpu);
  stage_operands(tried);
  remove_dead_code(tried);
  pipeline_loops(tried, gpu, {});
  bool found = false;
  for_each_op(*tried.body, [&](const Op &op) {
    found |= op.is(Opcode::load_) && op.result()->type.is_tile() && op.parent != tried.body;
  });
  return found;
}

namespace {

// The K tile of a matmul without tensor cores; 0 = that of the source. The loop is unrolled along
// K. With more than max_instructions it waits for the instruction cache: on an H200 (driver
// 580.159.04, f32, 2026-11-22) 4 % of the time with twice as many. Not measured on GPUs without
// cp.async.
int64_t step_without_tensor_cores(const MatmulSetting &setting, const Op &dot, const Gpu &gpu,
                                  int warps) {
  constexpr int64_t max_instructions = 1024, min_columns = 8;
  int64_t accumulators = std::max<int64_t>(dot.result()->type.elements() / (32 * warps), 1);
  int64_t columns = std::max(max_instructions / accumulators, min_columns);
  bool is_long = dot.operand(0)->type.shape[1] > columns;
  return is_long && gpu.has_cp_async && setting.row_of_k ? columns : 0;
}

// Whether the shared memory of two blocks fits on an SM.
bool has_room_for_two(Function &fn, const Gpu &gpu, const Schedule &schedule) {
  select_mma(fn, gpu, schedule);
  stage_operands(fn);
  remove_dead_code(fn);
  pipeline_loops(fn, gpu, schedule);
  prefetch_through_registers(fn, gpu);
  int64_t bytes = 0;
  for_each_op(*fn.body, [&](const Op &op) {
    if (op.is(Opcode::shared_alloc_))
      bytes += op.result()->type.elements() * bytes_of(op.result()->type.elem);
  });
  return 2 * bytes <= gpu.max_shared_bytes;
}

// A K tile so short that two blocks fit on an SM, since a second block hides latencies; 0 = that of
// the source. Rows shorter than 64 bytes are not worth it. Measured on an H200 (driver 580.159.04,
// f16, 2026-11-22) with the shared memory of an sm_86 and 128 x 128 accumulators per program: 275
// TFLOP/s with a K tile of 64, 422 TFLOP/s with 32.
int64_t step_for_two(const MatmulSetting &setting, const Op &dot, const Gpu &gpu) {
  constexpr int64_t min_row = 64;
  const Type &operand = dot.operand(0)->type;
  for (int64_t step = operand.shape[1]; step * bytes_of(operand.elem) >= min_row; step /= 2) {
    Schedule schedule{.k_tile = step};
    Function tried = *with_tile(setting, schedule);
    if (has_room_for_two(tried, gpu, schedule))
      return step == operand.shape[1] ? 0 : step;
  }
  return 0;
}

} // namespace

Candidate baseline_schedule(const MatmulSetting &setting, const std::optional<Problem> &problem,
                            const Gpu &gpu) {
  Function tried = clone(setting.fn);
  select_mma(tried, gpu);
  const Op &dot = *find_matmul_loop(tried).found->dot;
  if (!dot_instruction(dot).tensor_core)
    return {.schedule = {.k_tile = step_without_tensor_cores(setting, dot, gpu, tried.warps)}};
  Candidate candidate;
  if (setting.row_of_k)
    candidate.schedule.k_tile = step_for_two(setting, dot, gpu);
  int64_t step = candidate.schedule.k_tile;
  if (problem && problem->bytes <= 4)
    candidate.cost = cost_of_uncoarsened(setting.accumulator(),
                                         step ? step : dot.operand(0)->type.shape[1], *problem);
  return candidate;
}

} // namespace tritonc
