// Lets one thread load the operands of all dots. See specialize_loads.cpp.

#pragma once

#include "analysis/operand_loads.h"
#include "ir/ir.h"
#include "ir/schedule.h"
#include "target/gpu.h"

namespace tritonc {

/// The stages of each operand of the mainloops that fit beside everything else in shared memory; 0:
/// no loop of dots loads an operand. specialize_loads needs at least 2. `loads` are those of `fn`.
int64_t fitting_stages(ir::Function &fn, const std::vector<OperandLoad> &loads, const Gpu &gpu,
                       const Schedule &schedule);

void specialize_loads(ir::Function &fn, const Gpu &gpu, const Schedule &schedule);

} // namespace tritonc
