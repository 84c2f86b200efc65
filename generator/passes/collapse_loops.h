// Makes one loop of two nested loops. See collapse_loops.cpp.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void collapse_loops(ir::Function &fn);

} // namespace tritonc
