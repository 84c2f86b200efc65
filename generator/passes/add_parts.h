// Let the second of two launches add the parts of a sum that the first has stored.

#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

void add_parts(ir::Function &fn, const Structure &structure);

} // namespace tritonc
