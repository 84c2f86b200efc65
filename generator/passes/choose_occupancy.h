#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"
#include "target/gpu.h"

namespace tritonc {

/// Decides how many blocks one SM runs at once. See choose_occupancy.cpp.
void choose_occupancy(ir::Function &fn, const Gpu &gpu, const Schedule &schedule = {});

/// The number of blocks that the registers of an SM allow, at most 4. `accumulators` and `operands`:
/// registers of a thread for each.
int blocks_by_registers(int accumulators, int operands, int warps, const Gpu &gpu);

} // namespace tritonc
