// Let launches that follow one another overlap where they don't depend on each other.

#pragma once

#include "ir/ir.h"
#include "target/gpu.h"

namespace tritonc {

void overlap_launches(ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
