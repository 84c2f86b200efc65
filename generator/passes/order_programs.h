// Starts the programs with the most iterations first. See order_programs.cpp.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void order_programs(ir::Function &fn);

} // namespace tritonc
