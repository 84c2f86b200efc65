#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Turns while loops whose number of trips is known at their start into for loops.
void count_loops(ir::Function &fn);

} // namespace tritonc
