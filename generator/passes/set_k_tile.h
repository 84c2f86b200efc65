// Gives the matmul the K tile of the schedule. See set_k_tile.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

void set_k_tile(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
