#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Takes the operands of dots through shared memory.
void stage_operands(ir::Function &fn);

} // namespace tritonc
