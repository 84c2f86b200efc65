// The schedule in which the blocks of a cluster divide the loops of a program. See cluster.h.
//
// Tested by tests/unit/schedule/elementwise_test.cpp.

#include "schedule/cluster.h"

#include "passes/align_tiles.h"
#include "passes/split_loops_in_cluster.h"
#include "passes/stage_repeated_loads.h"
#include "schedule/cost_formulas.h"

namespace tritonc {

using namespace ir;

std::vector<Candidate> cluster_schedules(const Function &canonical, const Traffic &traffic,
                                         const Gpu &gpu) {
  std::vector<Candidate> found;
  for (int64_t blocks : {gpu.max_cluster_blocks / 2, gpu.max_cluster_blocks}) {
    Function divided = clone(canonical);
    align_tiles(divided);
    if (!blocks || !try_splitting_loops(divided, blocks))
      return {};
    auto add = [&](const Function &fn, bool staged) {
      std::optional<BlockWork> work = work_of_blocks(fn, all_programs() * number(blocks),
                                                     staged ? traffic.once : traffic.all, gpu);
      if (std::optional<Candidate> candidate =
              with_cost({.cluster = blocks, .staged = staged}, std::move(work)))
        found.push_back(std::move(*candidate));
    };
    if (Function staged = clone(divided); try_staging_loads(staged, gpu))
      add(staged, true);
    if (blocks == gpu.max_cluster_blocks)
      add(divided, false);
  }
  return found;
}

} // namespace tritonc
