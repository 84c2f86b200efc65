#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

/// Cuts dots along K into slices of one instruction each.
void slice_dots(ir::Function &fn, const Gpu &gpu, const Structure &structure = {});

} // namespace tritonc
