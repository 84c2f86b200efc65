// Warp-specialized schedules. See warp_specialized.h.
//
// Method: each tile is tried on a clone, by the passes before specialize_warps. The schedule is
// taken if the result meets the requirements (legality.h).
//
// Tested by tests/unit/schedule/candidates_test.cpp.

#include "schedule/warp_specialized.h"

#include "analysis/grid_axes.h"
#include "passes/coarsen_programs.h"
#include "passes/lower_to_tma.h"
#include "passes/partitions.h"
#include "passes/remove_dead_code.h"
#include "passes/select_mma.h"
#include "passes/set_k_tile.h"
#include "passes/split_k_in_cluster.h"
#include "passes/swap_operands.h"
#include "schedule/legality.h"
#include "schedule/loop_cost_model.h"
#include "schedule/split_k.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t rows_of_wgmma = 64;

// Whether the blocks of a cluster can compute adjacent output tiles. If their number is odd, a
// block has a tile outside of the grid. So only TMA may access memory: it skips what is outside of
// the tensors.
bool can_multicast(const Function &fn, const Schedule &schedule) {
  Function lowered = clone(fn);
  lower_to_tma(lowered, schedule);
  std::optional<SharedOperand> shared = find_shared_operand(*find_matmul_loop(lowered).found);
  bool is_clipped = shared.has_value();
  for_each_op(*lowered.body, [&](const Op &op) {
    const Effect effect = info(op.code).effect;
    if (op.is(Opcode::tma_store_)) {
      bool has_axis = false;
      for (size_t i = 2; i < op.operands.size() && shared; i++) {
        std::set<int64_t> axes = grid_axes_of(op.operand(i));
        has_axis |= axes == std::set{shared->axis};
        is_clipped &= !axes.count(shared->axis) || axes.size() == 1;
      }
      is_clipped &= has_axis;
    } else if (op.is(Opcode::tma_load_)) {
      is_clipped &= !op.has(attr::multicast_) || !op.has(attr::cache_); // multicast has no policy
    } else {
      is_clipped &= effect != Effect::read && effect != Effect::write && effect != Effect::io;
    }
  });
  return is_clipped;
}

// Whether blocks can divide the K iterations of a tile. What comes before the loop happens once for
// each part of a tile. stage_epilogue loads a tile by TMA in each program, not only in that of the last
// part.
bool can_stream_k(const Function &fn, const Schedule &schedule) {
  Function lowered = clone(fn);
  lower_to_tma(lowered, schedule);
  const MatmulLoop matmul = *find_matmul_loop(lowered).found;
  const Type &sum = matmul.dot->result()->type;
  bool can = is_same_in_all_programs(matmul) && (sum.elem == Elem::f32 || sum.elem == Elem::i32) &&
             matmul.loop->results.size() == 1 && is_zero(matmul.loop->operand(1 + matmul.carried));
  bool is_before = true;
  for_each_op(*lowered.body, [&](const Op &op) {
    const Effect effect = info(op.code).effect;
    is_before &= &op != matmul.loop;
    can &= !is_before || (effect != Effect::write && effect != Effect::io);
    can &= !op.is(Opcode::tma_load_) || op.parent->parent == matmul.loop;
  });
  return can;
}

// `schedule` with its tile, if the function can have this schedule.
std::optional<Schedule> tried_schedule(const MatmulSetting &setting, Schedule schedule,
                                       const Tile &wanted, const Gpu &gpu) {
  Function tried = clone(setting.fn);
  set_k_tile(tried, schedule);
  if (!try_coarsening(tried, schedule.coarsening, schedule.division))
    return std::nullopt;
  remove_dead_code(tried);
  swap_operands(tried, schedule);
  if (!can_specialize(tried, gpu, schedule) ||
      (schedule.split_k > 1 && !can_split_k_in_cluster(tried)) ||
      (schedule.multicast > 1 && !can_multicast(tried, schedule)) ||
      (schedule.stream_k && !can_stream_k(tried, schedule)))
    return std::nullopt;
  schedule.tile = block_tile(wanted, tried);
  return schedule;
}

// The same. On GPUs without wgmma it also tries half the K tile, then in addition a single epilogue
// stage: mma needs more stages than wgmma, and some of these GPUs have little shared memory.
std::optional<Schedule> fitting_schedule(const MatmulSetting &setting, Schedule schedule,
                                         const Tile &wanted, const Gpu &gpu) {
  std::optional<Schedule> found = tried_schedule(setting, schedule, wanted, gpu);
  if (found || gpu.has_wgmma)
    return found;
  schedule.k_tile /= 2;
  for (int64_t pieces : {2, 1}) {
    schedule.epilogue_stages = pieces;
    if ((found = tried_schedule(setting, schedule, wanted, gpu)))
      return found;
  }
  return std::nullopt;
}

// The schedule for a measured tile, if the function can have it.
std::optional<Schedule> specialized_schedule(const MatmulSetting &setting,
                                             const MeasuredTile &measured,
                                             std::optional<int64_t> row_of_k, const Gpu &gpu) {
  const Tile &tile = measured.tile;
  const int producer_warps = measured.producer_warps;
  if (!row_of_k && (tile.k_rows > 1 || tile.split_k > 1))
    return std::nullopt;
  const bool can_swap = gpu.has_wgmma && !producer_warps;
  const bool swaps_layouts = can_swap && is_better_swapped(setting.matmul);
  Tile wanted = tile;
  if (swaps_layouts)
    std::swap(wanted.rows, wanted.columns);
  // wgmma has 64 rows, but any number of columns.
  const bool swapped = can_swap && swaps_layouts != (tile.rows < rows_of_wgmma);
  std::optional<std::vector<int64_t>> coarsening = coarsening_of(setting, wanted);
  if (!coarsening)
    return std::nullopt;
  Schedule schedule{.kind = Schedule::Kind::warp_specialized,
                    .producer_warps = producer_warps,
                    .consumer_groups = measured.consumer_groups,
                    .coarsening = *coarsening,
                    .division = division_of(setting, wanted),
                    .k_tile = row_of_k.value_or(0) * tile.k_rows,
                    .swap_operands = swapped,
                    .split_k = tile.split_k,
                    .multicast = measured.multicast,
                    .stream_k = measured.partial > 0};
  return fitting_schedule(setting, schedule, wanted, gpu);
}

// The schedule for the tile of the source, of any size; it has no measured cost. If the function
// cannot have a longer K tile, it keeps that of the source.
std::optional<Schedule> own_schedule(const MatmulSetting &setting, int producer_warps,
                                     const Gpu &gpu) {
  MeasuredTile own = {
      {setting.accumulator()[0], setting.accumulator()[1], 1}, 0, 0, producer_warps};
  if (gpu.has_wgmma && !producer_warps && is_better_swapped(setting.matmul))
    std::swap(own.tile.rows, own.tile.columns);
  for (std::optional<int64_t> row : {setting.row_of_k, std::optional<int64_t>()})
    if (auto schedule = specialized_schedule(setting, own, row, gpu))
      return schedule;
  return std::nullopt;
}

void append(std::vector<Candidate> &candidates, std::vector<Candidate> more) {
  std::move(more.begin(), more.end(), std::back_inserter(candidates));
}

// --- Split-K through a workspace -----------------------------------------------------------------

// The schedules for the tiles of CostTables::split_k that the function can have.
std::vector<Candidate> split_k_schedules(const MatmulSetting &setting, const Problem &problem,
                                         const Gpu &gpu) {
  std::vector<Candidate> candidates;
  for (const MeasuredTile &tile : gpu.costs->split_k)
    if (auto schedule = specialized_schedule(setting, tile, setting.row_of_k, gpu))
      if (std::optional<SplitK> split = split_k_launches(setting, *schedule)) {
        Expr cost = cost_of_split_k_partials(split->partials, tile, split->reduction,
                                             setting.accumulator(), problem);
        candidates.push_back({.schedule = std::move(split->partials), .cost = std::move(cost)});
        candidates.push_back({.schedule = std::move(split->reduction)});
      }
  return candidates;
}

// Whether there is a ping-pong schedule for the tile of `schedule`. Then the same tile without
// ping-pong is not worth compiling.
bool has_ping_pong(const Schedule &schedule, const std::vector<Candidate> &candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate &other) {
    return other.schedule.consumer_groups > 1 && other.schedule.tile == schedule.tile;
  });
}

} // namespace

std::vector<Candidate> warp_specialized_schedules(const MatmulSetting &setting,
                                                  const std::optional<Problem> &problem,
                                                  std::span<const MeasuredTile> tiles,
                                                  const Gpu &gpu) {
  const int producer_warps = tiles[0].producer_warps;
  std::vector<Candidate> candidates;
  for (const MeasuredTile &measured : tiles) {
    std::optional<Schedule> schedule =
        specialized_schedule(setting, measured, setting.row_of_k, gpu);
    if (!schedule || has_ping_pong(*schedule, candidates))
      continue;
    std::optional<Expr> cost;
    if (problem)
      cost = cost_of(*schedule, measured, *problem);
    candidates.push_back({.schedule = std::move(*schedule), .cost = std::move(cost)});
  }
  if (problem && gpu.has_wgmma && !producer_warps)
    append(candidates, split_k_schedules(setting, *problem, gpu));
  // Costs decide which schedule is best. Without them only one is compiled: that of the largest
  // tile, or of the tile of the source. With gathered operands it may be slower than others.
  if (candidates.empty() && !is_gathered(setting.matmul))
    if (std::optional<Schedule> own = own_schedule(setting, producer_warps, gpu))
      candidates.push_back({std::move(*own)});
  if (!candidates.empty() && !candidates[0].cost)
    candidates.resize(1);
  return candidates;
}

namespace {

// Registers of a consumer thread: the accumulators of all dots in loops, the operands that it
// computes, and others for addresses and for values of each row. `fn`: after select_mma.
int64_t registers_of_loops(const Function &fn) {
  constexpr int64_t others = 32, register_bytes = 4;
  int64_t bytes = 0; // of all threads
  for_each_op(*fn.body, [&](const Op &op) {
    if (!op.is(Opcode::dot_) || !op.parent->parent)
      return;
    const Value *left = op.operand(0);
    bytes += op.result()->type.elements() * bytes_of(op.result()->type.elem);
    if (left->op && left->op->parent == op.parent && !left->op->is(Opcode::load_) &&
        !left->op->is(Opcode::trans_))
      bytes += left->type.elements() * bytes_of(left->type.elem);
  });
  return bytes / register_bytes / (32 * fn.warps) + others;
}

// Registers of a thread for the largest wgmma, without which ptxas fails (C7602).
int64_t registers_of_largest_wgmma(const Function &fn) {
  constexpr int64_t others = 26;
  int64_t elements = 0;
  for_each_op(*fn.body, [&](const Op &op) {
    if (op.is(Opcode::dot_))
      elements = std::max(elements, op.result()->type.elements());
  });
  return elements / (32 * fn.warps) + others;
}

} // namespace

std::optional<Candidate> specialized_loads_schedule(const Function &canonical, const Gpu &gpu) {
  // Dots that stay in flight keep the tensor cores busy, and need many stages. Other loops wait for a dot
  // in each iteration: meanwhile, other blocks use the tensor cores.
  const int max_blocks = keeps_dots_in_flight(canonical) ? 1 : 3;
  for (int blocks = max_blocks; blocks > 0; blocks--) {
    const Schedule schedule{.kind = Schedule::Kind::warp_specialized, .blocks_per_sm = blocks};
    Function tried = clone(canonical);
    if (!can_specialize_loads(tried, gpu, schedule))
      continue;
    select_mma(tried, gpu, schedule);
    const ThreadRegisters registers = registers_beside_one_thread(tried.warps, blocks, gpu);
    if (blocks == 1 || (registers_of_loops(tried) <= registers.of_consumer &&
                        registers_of_largest_wgmma(tried) <= registers.at_start))
      return Candidate{.schedule = schedule, .cost = cost_of_loops(canonical, schedule, gpu)};
  }
  return std::nullopt;
}

} // namespace tritonc
