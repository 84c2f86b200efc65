// Loads the operands of a matmul, and stores its output tile, by TMA. See lower_to_tma.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

void lower_to_tma(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
