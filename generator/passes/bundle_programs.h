// Let a block carry out neighbouring programs at once.

#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

/// Bundles so many programs along each axis of the grid. `cuts`: how many of the bundles are those
/// of a larger one cut up (Structure::cuts); empty: none. False: it can't be done, and the function
/// is spoilt.
bool try_bundling(ir::Function &fn, const std::vector<int64_t> &times,
                  const std::vector<int64_t> &cuts = {});

void bundle_programs(ir::Function &fn, const Structure &structure);

} // namespace tritonc
