// Compute the transpose of a product, from its factors' transposes.

#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

void swap_factors(ir::Function &fn, const Structure &structure);

} // namespace tritonc
