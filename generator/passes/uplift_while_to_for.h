#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Turns while loops into for loops if the number of iterations is known at their start.
void uplift_while_to_for(ir::Function &fn);

} // namespace tritonc
