// Other kernels that must do the same: with dead code, wrapped in loops that run once, with
// operands swapped, with stores split in two.

#pragma once

#include "random/draw.h"
#include "random/tree.h"

namespace tritonc::random {

/// A kernel that stores the same as `kernel` in the same parameters; it may have more parameters
/// after them. (Swapped operands may change how a sum is rounded.)
Kernel variant_of(const Kernel &kernel, Draw &draw);

} // namespace tritonc::random
