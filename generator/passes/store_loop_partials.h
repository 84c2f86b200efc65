// Divides a loop that reduces among blocks. See store_loop_partials.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

void store_loop_partials(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
