// Divides a block into producer warps that copy and consumer warps that multiply.
// See specialize_warps.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"
#include "target/gpu.h"

namespace tritonc {

void specialize_warps(ir::Function &fn, const Gpu &gpu, const Schedule &schedule);

} // namespace tritonc
