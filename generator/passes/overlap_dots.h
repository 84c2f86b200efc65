// Starts the dots of the next iteration before the last dots of an iteration. See overlap_dots.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

void overlap_dots(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
