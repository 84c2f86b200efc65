// Computes the transpose of a matmul, from the transposes of its operands. See swap_operands.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

void swap_operands(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
