#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Lets a dot accumulate into what it is added to.
void fuse_dots(ir::Function &fn);

} // namespace tritonc
