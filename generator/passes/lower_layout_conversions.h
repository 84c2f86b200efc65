#pragma once

#include "ir/ir.h"
#include "target/gpu.h"

namespace tritonc {

/// Lowers convert_layout to a store to and a load from shared memory.
void lower_layout_conversions(ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
