// Let each block of the first of two launches store its part of a sum.

#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

/// Whether another launch can do all that comes behind the product's loop.
bool can_divide_sums(ir::Function &fn);

void store_parts(ir::Function &fn, const Structure &structure);

} // namespace tritonc
