// Warp-specialized schedules: some warps copy, the others multiply by wgmma or mma.

#pragma once

#include "schedule/candidate.h"
#include "schedule/cost_model.h"
#include "schedule/tile_shapes.h"

#include <optional>
#include <span>
#include <vector>

namespace tritonc {

/// The schedules for `tiles`, in their order, then pairs of schedules that share the work. If the
/// function can have none of them, or if costs cannot be computed (no `problem`): at most one
/// schedule, without a cost.
std::vector<Candidate> warp_specialized_schedules(const MatmulSetting &setting,
                                                  const std::optional<Problem> &problem,
                                                  std::span<const MeasuredTile> tiles,
                                                  const Gpu &gpu);

/// One program per block, and up to three blocks per SM, for kernels whose loops have other dots than
/// a matmul's: several, of computed operands, or with accumulators that the loop changes. TMA loads
/// their operands. Nothing if the function cannot have this schedule. `canonical` is a result of
/// canonical_form.
std::optional<Candidate> specialized_loads_schedule(const ir::Function &canonical, const Gpu &gpu);

} // namespace tritonc
