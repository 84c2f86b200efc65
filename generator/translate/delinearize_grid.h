// Gives a kernel that divides its program id one axis of the grid per result.

#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Changes the grid of `fn` and its program ids. Nothing happens unless `fn.plan` has a grid with a
/// free axis, of which axis 0 is a product, and the kernel uses its program id for the two factors.
void delinearize_grid(ir::Function &fn);

} // namespace tritonc
