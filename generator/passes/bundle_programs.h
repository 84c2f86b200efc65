// Let a block carry out neighbouring programs at once.

#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

/// Bundles so many programs along each axis of the grid. False: it can't be done, and the function
/// is spoilt.
bool try_bundling(ir::Function &fn, const std::vector<int64_t> &times);

void bundle_programs(ir::Function &fn, const Structure &structure);

} // namespace tritonc
