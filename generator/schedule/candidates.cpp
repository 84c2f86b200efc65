// Which schedules the compiler compiles a kernel with. See candidates.h.
//
// candidate_schedules tries all schedules, in order. The parts are in other files:
//
//     tile_shapes               the tile of a block: coarsened programs, K tile
//     legality                  the requirements on a matmul
//     cost_model                the cost of launches, from measured tiles
//     elementwise_cost_model    the cost of launches without a matmul
//     loop_cost_model           the cost of launches whose loops have several dots
//     batched                   several programs per block, without a matmul
//     split_k                   several blocks per program of a matmul: two launches
//     split_loop                several blocks per program, without a matmul: two launches
//     cluster                   several blocks per program, without a matmul: clusters
//     warp_specialized          producer warps copy, consumer warps multiply
//     multistage                all warps do the same: coarsened, wgmma, one block per SM, baseline
//     missed_schedule           why a kernel has no warp-specialized schedule with TMA
//
// Tested by tests/unit/schedule/candidates_test.cpp.

#include "schedule/candidates.h"

#include "analysis/repeated_loads.h"
#include "ir/checks.h"
#include "passes/align_tiles.h"
#include "passes/pipeline.h"
#include "passes/select_mma.h"
#include "passes/stage_repeated_loads.h"
#include "passes/unroll_loops.h"
#include "schedule/batched.h"
#include "schedule/cluster.h"
#include "schedule/cost_formulas.h"
#include "schedule/cost_model.h"
#include "schedule/elementwise_cost_model.h"
#include "schedule/legality.h"
#include "schedule/multistage.h"
#include "schedule/split_k.h"
#include "schedule/split_loop.h"
#include "schedule/tile_shapes.h"
#include "schedule/warp_specialized.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

bool is_matmul(Function &fn) {
  std::optional<MatmulLoop> matmul = find_matmul_loop(fn).found;
  return matmul && is_in_loops_only(*matmul);
}

bool has_costs(const std::vector<Candidate> &candidates) {
  return !candidates.empty() && candidates[0].cost;
}

void append(std::vector<Candidate> &candidates, std::vector<Candidate> more) {
  std::move(more.begin(), more.end(), std::back_inserter(candidates));
}

// Appends `more`. If the candidates have costs, skips new candidates without a cost: they would
// seem to be the best.
void append_comparable(std::vector<Candidate> &candidates, std::vector<Candidate> more) {
  for (Candidate &candidate : more)
    if (!has_costs(candidates) || candidate.cost)
      candidates.push_back(std::move(candidate));
}

// The baseline that copies through registers, with its cost. Split-K comes before it.
std::vector<Candidate> copying_baseline(const MatmulSetting &setting, const Problem &problem,
                                        const Gpu &gpu) {
  const Shape accumulator = setting.accumulator();
  const int64_t step = setting.matmul.dot->operand(0)->type.shape[1];
  const MeasuredCopies &times =
      is_gathered(setting.matmul) ? gpu.costs->gathered_copies : gpu.costs->copies;
  CopyingMatmul copies = {accumulator, step, problem, &times};
  const int64_t threads = 32 * warps_for_tile(accumulator[0] * accumulator[1]);
  Expr cost = cost_of_copies(copies, threads, number(1));
  std::vector<Candidate> candidates = split_k_of_copies(setting, copies, gpu);
  candidates.push_back({.schedule = {}, .cost = std::move(cost), .copies = std::move(copies)});
  return candidates;
}

// The baseline beside `others`. On GPUs with wgmma it has no cost if `others` have none, and for
// operands with which it was not measured: those of other sizes than 16 bits, and those that
// cp.async can copy if `others` contain schedules without TMA. These are then faster. Alone, it has
// a cost with gathered operands, so that variants can be compared.
std::vector<Candidate> baseline_beside(const std::vector<Candidate> &others,
                                       const MatmulSetting &setting,
                                       const std::optional<Problem> &problem, const Gpu &gpu) {
  const bool is_comparable = problem && problem->bytes == 2 &&
                             (others.empty() ? is_gathered(setting.matmul) : has_costs(others));
  if (gpu.has_wgmma && is_comparable && copies_through_registers(setting, gpu))
    return copying_baseline(setting, *problem, gpu);
  if (!gpu.has_wgmma || others.empty())
    return {baseline_schedule(setting, problem, gpu)};
  bool without_tma = std::any_of(others.begin(), others.end(), [](const Candidate &candidate) {
    return candidate.schedule.producer_warps > 0 || candidate.copies;
  });
  if (!is_comparable || without_tma)
    return {{}};
  const int64_t step = setting.matmul.dot->operand(0)->type.shape[1];
  return {{.schedule = {}, .cost = cost_of_baseline(setting.accumulator(), step, *problem)}};
}

// A schedule that runs a program per block as `fn`, which is the kernel with this schedule. Nothing
// if its cost is unknown.
std::optional<Candidate> one_program_schedule(const Function &fn, const Schedule &schedule,
                                              const Traffic &traffic, const Gpu &gpu) {
  const bool once = schedule.iterations || schedule.staged;
  return with_cost(schedule,
                   work_of_blocks(fn, all_programs(), once ? traffic.once : traffic.all, gpu));
}

// Whether a thread has registers for the tiles of all iterations.
bool fits_registers(const Function &fn, int64_t iterations) {
  constexpr int64_t max_of_thread = 64;
  const int64_t elements = elements_of_largest_tile(fn);
  return iterations * elements <= max_of_thread * 32 * warps_for_tile(elements);
}

// The schedules of a kernel without a matmul.
std::vector<Candidate> elementwise_schedules(const Function &canonical, const Gpu &gpu) {
  const Traffic traffic = traffic_of(canonical, gpu);
  Function aligned = clone(canonical);
  align_tiles(aligned);
  std::optional<Candidate> baseline = one_program_schedule(aligned, {}, traffic, gpu);
  std::vector<Candidate> candidates;
  auto add = [&](std::optional<Candidate> candidate) {
    if (candidate)
      candidates.push_back(std::move(*candidate));
  };
  if (!baseline) {
    if (std::optional<Candidate> whole = specialized_loads_schedule(canonical, gpu)) {
      append(candidates, split_loop_of_dots(canonical, whole->schedule, gpu));
      candidates.push_back(std::move(*whole));
    }
    add(wgmma_schedule(canonical, gpu));
    candidates.push_back({});
    return candidates;
  }
  append(candidates, batched_schedules(canonical, traffic, gpu));
  for (int64_t iterations : unrolled_iterations)
    if (Function once = clone(aligned);
        (iterations == 1 ||
         (!has_batch(canonical, iterations, gpu) && fits_registers(once, iterations))) &&
        find_repeated_loads(once) && try_unrolling(once, iterations))
      add(one_program_schedule(once, {.iterations = iterations}, traffic, gpu));
  if (Function staged = clone(aligned); try_staging_loads(staged, gpu))
    add(one_program_schedule(staged, {.staged = true}, traffic, gpu));
  std::vector<Candidate> split = split_loop_schedules(canonical, *baseline->work, gpu);
  if (split.empty() &&
      elements_of_largest_tile(canonical) >= gpu.costs->elementwise.cluster_elements)
    append(candidates, cluster_schedules(canonical, traffic, gpu));
  append(candidates, std::move(split));
  add(std::move(baseline));
  return candidates;
}

} // namespace

std::vector<Candidate> candidate_schedules(const Function &fn, const Gpu &gpu) {
  Function canonical = canonical_form(fn);
  if (!is_matmul(canonical) || has_own_order(canonical))
    return elementwise_schedules(canonical, gpu);
  const MatmulSetting setting = setting_of(canonical);
  const std::optional<Problem> problem = problem_of(setting, gpu);
  std::vector<Candidate> candidates;
  if (gpu.has_wgmma) {
    // Warp-specialized: TMA loads the operands. Producer warps load them if TMA cannot, or if a
    // launch may find that it cannot.
    candidates = warp_specialized_schedules(setting, problem, gpu.costs->by_tma, gpu);
    std::optional<Candidate> by_all; // all warps copy and multiply
    if (candidates.empty())
      by_all = gathered_wgmma_schedule(setting, problem, gpu);
    const bool is_better = by_all && is_gathered(setting.matmul); // than by producer warps
    const auto by_threads =
        is_gathered(setting.matmul) ? gpu.costs->gathered_by_threads : gpu.costs->by_threads;
    if (!is_better && (candidates.empty() || may_lack_maps(canonical)))
      append_comparable(candidates, warp_specialized_schedules(setting, problem, by_threads, gpu));
    if (candidates.empty() && by_all)
      candidates.push_back(std::move(*by_all));
    // All warps do the same, too, for small matmuls, and for matmuls with few rows.
    if (has_costs(candidates))
      for (auto schedule : {multistage_wgmma_schedule, one_block_per_sm_schedule})
        if (std::optional<Candidate> found = schedule(setting, *problem, gpu))
          candidates.push_back(std::move(*found));
  } else if (problem) {
    // One warp copies by TMA, the others multiply by mma. Or all warps do the same, for coarsened
    // programs.
    if (gpu.has_tensor_maps)
      for (Candidate &candidate :
           warp_specialized_schedules(setting, problem, gpu.costs->by_mma, gpu))
        if (candidate.cost) // without a cost it may be slower than the other schedules
          candidates.push_back(std::move(candidate));
    if (std::optional<Candidate> coarsened = coarsened_schedule(setting, *problem, gpu))
      candidates.push_back(std::move(*coarsened));
  }
  append(candidates, baseline_beside(candidates, setting, problem, gpu));
  return candidates;
}

std::vector<Candidate> candidates_for_code(const Function &fn, const Gpu &gpu) {
  std::vector<Candidate> candidates = candidate_schedules(fn, gpu);
  if (has_checks(fn))
    candidates.erase(candidates.begin(), candidates.end() - 1);
  return candidates;
}

} // namespace tritonc
