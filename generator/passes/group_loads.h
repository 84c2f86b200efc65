// Issues the loads of an iteration together. See group_loads.cpp.

#pragma once

#include "ir/ir.h"
#include "target/gpu.h"

namespace tritonc {

void group_loads(ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
