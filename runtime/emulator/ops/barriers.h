// Barriers of a warp and of a block (PTX ISA, "bar.warp.sync", "barrier.cta").
//
// A block has 16 barriers. A warp arrives as a whole. A barrier completes when its number of
// threads has arrived. The waiting threads then continue after all earlier events of all arrived
// threads, and the barrier resets.

#pragma once

#include "../record.h"

namespace tritonc::emulator::ops {

/// Barrier 0 with all threads of the block.
void barrier(const WarpCall<void()> &call);
/// Operands: barrier index, number of threads.
void barrier_sync(const WarpCall<void(uint32_t, uint32_t)> &call);
void barrier_arrive(const WarpCall<void(uint32_t, uint32_t)> &call);
/// Orders the memory accesses of the warp's threads.
void warp_sync(const WarpCall<void()> &call);

} // namespace tritonc::emulator::ops
