#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

/// Copies what a loop iteration needs from memory several iterations ahead.
void pipeline_loops(ir::Function &fn, const Gpu &gpu, const Structure &structure = {});

} // namespace tritonc
