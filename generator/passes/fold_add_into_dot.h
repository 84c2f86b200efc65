#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Lets a dot accumulate into the tile that it is added to.
void fold_add_into_dot(ir::Function &fn);

} // namespace tritonc
