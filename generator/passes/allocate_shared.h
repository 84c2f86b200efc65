#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Gives every buffer in shared memory an address; buffers that are not live together may overlap.
void allocate_shared(ir::Function &fn);

} // namespace tritonc
