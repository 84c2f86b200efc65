// Replaces a loop that reduces by one that combines its partials. See combine_loop_partials.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

void combine_loop_partials(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
