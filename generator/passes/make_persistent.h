// Lets every block run several programs, one after another. See make_persistent.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

void make_persistent(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
