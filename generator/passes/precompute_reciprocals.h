// Gives divisions in loops the reciprocal of their divisor. See precompute_reciprocals.cpp.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void precompute_reciprocals(ir::Function &fn);

} // namespace tritonc
