// Let the blocks of a cluster divide the sum of a product among them.

#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

/// Whether only what the blocks of a cluster can do together comes behind the product's loop.
bool can_split_sums(ir::Function &fn);

/// Lets a loop make `count` of its trips, from number `first` on.
void take_part_of_steps(ir::Function &fn, ir::Op *loop, ir::Value *first, ir::Value *count);

void split_sums(ir::Function &fn, const Structure &structure);

} // namespace tritonc
