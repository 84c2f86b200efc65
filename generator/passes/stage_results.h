// Let the copy engine store a product's result.

#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

void stage_results(ir::Function &fn, const Structure &structure = {});

} // namespace tritonc
