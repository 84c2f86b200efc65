// Let the copy engine load the factors of a product, by tensor maps.

#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

void use_tensor_maps(ir::Function &fn, const Structure &structure);

} // namespace tritonc
