// Give copying and multiplying to different warps.

#pragma once

#include "analysis/product_loop.h"
#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

/// How many slots the ring of `product` has beside what else is in shared memory. With fewer than
/// the least, specialising is of no use: wgmma runs on while the next slot is filled, but mma needs
/// one that is full already.
constexpr int64_t least_ring_slots = 2, least_ring_slots_of_mma = 3;
int64_t ring_slots(ir::Function &fn, const ProductLoop &product, const Gpu &gpu,
                   const Structure &structure);

void specialize_warps(ir::Function &fn, const Gpu &gpu, const Structure &structure);

} // namespace tritonc
