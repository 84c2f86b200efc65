// Loads the first slice of a loop's next iteration before the last dot of the current iteration.
// See prefetch_dot_operands.cpp.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void prefetch_dot_operands(ir::Function &fn);

} // namespace tritonc
