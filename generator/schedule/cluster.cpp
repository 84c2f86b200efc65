// The schedule in which the blocks of a cluster divide the loops of a program. See cluster.h.
//
// Tested by tests/unit/schedule/candidates_test.cpp.

#include "schedule/cluster.h"

#include "passes/split_loops_in_cluster.h"
#include "passes/stage_repeated_loads.h"
#include "schedule/cost_formulas.h"

namespace tritonc {

using namespace ir;

std::optional<Candidate> cluster_schedule(const Function &canonical, const Gpu &gpu) {
  constexpr int64_t blocks = 8; // the largest cluster that every GPU with clusters supports
  Function divided = clone(canonical);
  if (!gpu.has_clusters || !try_splitting_loops(divided, blocks))
    return std::nullopt;
  const bool staged = try_staging_loads(divided, gpu);
  std::optional<BlockWork> work = work_of_blocks(divided, all_programs() * number(blocks), gpu);
  if (!work)
    return std::nullopt;
  Expr cost = cost_of_elementwise(*work, number(work->estimated_occupancy));
  return Candidate{.schedule = {.cluster = blocks, .staged = staged},
                   .cost = std::move(cost),
                   .work = std::move(work)};
}

} // namespace tritonc
