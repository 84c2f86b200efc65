// The schedule in which the blocks of a cluster divide the loops of a program.

#pragma once

#include "schedule/candidate.h"
#include "target/gpu.h"

namespace tritonc {

/// Clusters, staged if several loops load the same tiles. `canonical` has no matmul. Nothing if the
/// GPU has no clusters, or if split_loops_in_cluster cannot change the function.
std::optional<Candidate> cluster_schedule(const ir::Function &canonical, const Gpu &gpu);

} // namespace tritonc
