#pragma once

#include "ir/ir.h"
#include "target/gpu.h"

namespace tritonc {

/// Where the GPU can't copy in the background: load what a loop takes through shared memory two
/// trips ahead, into registers.
void load_ahead(ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
