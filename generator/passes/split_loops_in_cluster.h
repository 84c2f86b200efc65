// Lets the blocks of a cluster divide all loops of a program. See split_loops_in_cluster.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

/// Makes clusters of `blocks` blocks divide the loops of a program. Returns false if they cannot;
/// then `fn` is no longer valid.
bool try_splitting_loops(ir::Function &fn, int64_t blocks);

void split_loops_in_cluster(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
