// Let the blocks of a cluster divide the sum of a product among them.

#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

/// Whether only what the blocks of a cluster can do together comes behind the product's loop.
bool can_split_sums(ir::Function &fn);

void split_sums(ir::Function &fn, const Structure &structure);

} // namespace tritonc
