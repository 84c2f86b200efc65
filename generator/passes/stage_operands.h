#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Sends the operands of dots through shared memory.
void stage_operands(ir::Function &fn);

} // namespace tritonc
