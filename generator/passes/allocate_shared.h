#pragma once

#include "ir/ir.h"
#include "target/gpu.h"

namespace tritonc {

/// Assigns an address in shared memory to every buffer. Buffers may overlap if they are not live at
/// the same time.
void allocate_shared(ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
