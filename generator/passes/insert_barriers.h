#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Makes threads wait where they could see stale shared memory.
void insert_barriers(ir::Function &fn);

} // namespace tritonc
