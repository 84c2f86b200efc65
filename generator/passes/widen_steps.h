// Take more of K in one step of a product.

#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

void widen_steps(ir::Function &fn, const Structure &structure);

} // namespace tritonc
