#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Undoes hand-made prefetching: a loop loads what it uses. See unrotate_loops.cpp.
void unrotate_loops(ir::Function &fn);

} // namespace tritonc
