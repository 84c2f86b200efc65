#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"
#include "target/gpu.h"

namespace tritonc {

/// Chooses the instruction of every dot, its division among warps, and the number of warps.
void select_mma(ir::Function &fn, const Gpu &gpu, const Schedule &schedule = {});

/// The number of warpgroups that divide the rows of an accumulator.
int64_t warpgroups_of(const ir::Shape &accumulator, const Schedule &schedule);

} // namespace tritonc
