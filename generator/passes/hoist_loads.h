// Issues loads before the reductions that they need not wait for. See hoist_loads.cpp.

#pragma once

#include "ir/ir.h"
#include "target/gpu.h"

namespace tritonc {

void hoist_loads(ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
