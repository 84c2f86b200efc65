// Split-K through a workspace. See split_k.h.
//
// Tested by tests/unit/schedule/split_k_test.cpp.

#include "schedule/split_k.h"

#include "analysis/associative_loop.h"
#include "passes/choose_occupancy.h"
#include "passes/coarsen_programs.h"
#include "passes/loop_partials.h"
#include "passes/select_mma.h"
#include "schedule/cost_formulas.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// The blocks that share the tile of a program in the second launch, along each axis of the grid: as
// many as keep whole vectors for all threads.
std::vector<int64_t> division_of_reduction(const MatmulSetting &setting) {
  const Shape &accumulator = setting.accumulator();
  const int64_t blocks =
      std::min(accumulator[0], accumulator[0] * accumulator[1] / LoopPartials::min_elements);
  const std::vector<int64_t> one(3, 1);
  std::vector<int64_t> division = one;
  division[*setting.axes[0]] = std::max<int64_t>(blocks, 1);
  Function tried = clone(setting.fn);
  return try_coarsening(tried, one, division) ? division : one;
}

} // namespace

std::optional<SplitK> split_k_launches(const MatmulSetting &setting, Schedule first) {
  const bool is_tiled = setting.axes[0] && setting.axes[1] && setting.axes[0] != setting.axes[1];
  std::optional<AssociativeLoop> found = find_associative_loop(setting.fn);
  if (!is_tiled || !found || found->totals.size() != 1 || !first.division.empty())
    return std::nullopt;
  const std::vector<int64_t> one(3, 1);
  first.work = Schedule::Work::partials;
  first.partials = {.coarsening = first.coarsening.empty() ? one : first.coarsening,
                    .axes = {*setting.axes[0], *setting.axes[1]}};
  Schedule second{.kind = Schedule::Kind::split_k_reduction,
                  .tile = first.tile,
                  .coarsening = one,
                  .division = division_of_reduction(setting),
                  .k_tile = first.k_tile,
                  .work = Schedule::Work::reduction,
                  .partials = first.partials,
                  .blocks_per_sm = first.blocks_per_sm};
  return SplitK{std::move(first), std::move(second)};
}

std::vector<Candidate> split_k_of_copies(const MatmulSetting &setting, CopyingMatmul copies,
                                         const Gpu &gpu) {
  const int64_t elements = copies.accumulator[0] * copies.accumulator[1];
  const int warps = warps_for_tile(elements), accumulators = int(elements / (32 * warps));
  Schedule first{.kind = Schedule::Kind::split_loop,
                 .blocks_per_sm = blocks_by_registers(accumulators, accumulators, warps, gpu)};
  std::optional<SplitK> split = split_k_launches(setting, std::move(first));
  if (!split)
    return {};
  copies.reduction = split->reduction;
  Expr cost = cost_of_copies(copies, 32 * warps, number(split->partials.blocks_per_sm));
  return {{.schedule = std::move(split->partials),
           .cost = std::move(cost),
           .copies = std::move(copies)},
          {.schedule = std::move(split->reduction)}};
}

} // namespace tritonc
