#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Divides reductions over several warps: each warp first combines its own elements.
void split_reductions(ir::Function &fn);

} // namespace tritonc
