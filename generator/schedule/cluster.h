// The schedule in which the blocks of a cluster divide the loops of a program.

#pragma once

#include "schedule/candidate.h"
#include "target/gpu.h"

namespace tritonc {

/// Clusters of the most blocks, and of half of them. If several loops load the same tiles, the blocks
/// stage them. Shared memory may be too small for all iterations. So for the largest clusters there is
/// also a schedule without staging. `canonical` has no matmul. Empty if the
/// GPU has no clusters, or if split_loops_in_cluster cannot change the function. `traffic`:
/// that of the kernel.
std::vector<Candidate> cluster_schedules(const ir::Function &canonical, const Traffic &traffic,
                                         const Gpu &gpu);

} // namespace tritonc
