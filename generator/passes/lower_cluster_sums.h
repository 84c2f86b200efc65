// Turn cluster_sum into stores to and loads from the shared memory of a cluster's blocks.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void lower_cluster_sums(ir::Function &fn);

} // namespace tritonc
