// How many stages of operands fit in shared memory.

#pragma once

#include "analysis/operand_loads.h"
#include "ir/ir.h"
#include "ir/schedule.h"
#include "target/gpu.h"

#include <vector>

namespace tritonc {

/// The stages of each operand of the mainloops that fit beside everything else in shared memory; 0:
/// no loop of dots loads an operand. `loads` are those of `fn`. At most 4, or 8 if all dots only
/// accumulate. specialize_warps needs at least the minimum: wgmma runs on while the next stage is
/// filled, but mma needs a stage that is full already.
constexpr int64_t min_stages_of_wgmma = 2, min_stages_of_mma = 3;
int64_t fitting_stages(ir::Function &fn, const std::vector<OperandLoad> &loads, const Gpu &gpu,
                       const Schedule &schedule);

} // namespace tritonc
