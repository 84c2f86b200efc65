// Let every block carry out several programs, one after another.

#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

void persist_programs(ir::Function &fn, const Structure &structure);

} // namespace tritonc
