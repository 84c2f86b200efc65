#pragma once

#include "ir/ir.h"
#include "target/gpu.h"

namespace tritonc {

/// On GPUs without cp.async: loads the operands of a loop into registers two iterations ahead.
void prefetch_through_registers(ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
