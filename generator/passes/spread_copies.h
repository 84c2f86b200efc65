// Start the copies for later iterations between the slices of a loop's product.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void spread_copies(ir::Function &fn);

} // namespace tritonc
