// Sends output tiles through shared memory to memory, piece by piece. See stage_epilogue.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

void stage_epilogue(ir::Function &fn, const Schedule &schedule = {});

} // namespace tritonc
