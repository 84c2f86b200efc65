// Divides a loop where a condition of its counter changes. See split_loop_at_condition.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

void split_loop_at_condition(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
