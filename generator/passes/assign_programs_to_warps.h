// Lets each warp of a block run a program of its own. See assign_programs_to_warps.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

/// Makes each of the `warps` warps of a block run one of adjacent programs along the first axis of
/// the grid. Returns false if it cannot; then `fn` does not change.
bool try_assigning_programs(ir::Function &fn, int64_t warps);

void assign_programs_to_warps(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
