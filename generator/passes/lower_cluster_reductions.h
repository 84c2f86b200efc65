// Lowers cluster_reduce to stores to and loads from the shared memory of a cluster's blocks.
// See lower_cluster_reductions.cpp.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void lower_cluster_reductions(ir::Function &fn);

} // namespace tritonc
