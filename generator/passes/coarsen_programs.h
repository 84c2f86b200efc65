// Lets a block run several adjacent programs at once. See coarsen_programs.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

/// Coarsens `times` programs into one, along each axis of the grid. `division`: that of the
/// schedule. Returns false if it cannot; then `fn` is no longer valid.
bool try_coarsening(ir::Function &fn, const std::vector<int64_t> &times,
                    const std::vector<int64_t> &division = {});

void coarsen_programs(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
