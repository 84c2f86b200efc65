// Lets a block run several programs side by side. See batch_programs.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

/// Makes a block run `times` (a power of two) adjacent programs along the first axis of the grid.
/// Returns false if it cannot; then `fn` is no longer valid.
bool try_batching(ir::Function &fn, int64_t times);

void batch_programs(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
