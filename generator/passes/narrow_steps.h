// Let a step of a product take less of K than the source's.

#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

void narrow_steps(ir::Function &fn, const Structure &structure);

} // namespace tritonc
