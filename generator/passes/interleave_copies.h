// Starts the copies for later iterations between the slices of a loop's matmul.
// See interleave_copies.cpp.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void interleave_copies(ir::Function &fn);

} // namespace tritonc
