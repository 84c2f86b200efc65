// Makes equivalent variants of a kernel: with dead code, with loops that run once, with swapped
// operands, with stores split in two.

#pragma once

#include "random_kernels/draw.h"
#include "random_kernels/tree.h"

namespace tritonc::random {

/// A kernel that stores the same values in the same parameters as `kernel`. It may have additional
/// parameters at the end. (Swapped operands may change the rounding of a sum.)
Kernel variant_of(const Kernel &kernel, Draw &draw);

} // namespace tritonc::random
