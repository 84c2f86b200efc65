// Give copying and multiplying to different warps.

#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

void specialize_warps(ir::Function &fn, const Gpu &gpu, const Structure &structure);

} // namespace tritonc
