#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Undoes prefetching in the source, so that each iteration loads the tiles that it uses.
void unpipeline_loops(ir::Function &fn);

} // namespace tritonc
