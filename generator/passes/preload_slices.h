// Load the first factors of a loop's next iteration during the arithmetic of the present one.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void preload_slices(ir::Function &fn);

} // namespace tritonc
