// Give copying and multiplying to different warps.

#pragma once

#include "analysis/product_loop.h"
#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

/// How many slots the ring of `product` has beside what else is in shared memory, where so many
/// blocks run on one multiprocessor. With fewer than the least, specialising is of no use.
constexpr int64_t least_ring_slots = 2;
int64_t ring_slots(ir::Function &fn, const ProductLoop &product, const Gpu &gpu, int residency);

void specialize_warps(ir::Function &fn, const Gpu &gpu, const Structure &structure);

} // namespace tritonc
