// Barriers of a warp and of a block (PTX ISA, "bar.warp.sync", "barrier.cta").
//
// A block has 16 barriers; a warp arrives as a whole. Once as many threads have arrived as the
// barrier was given, those who wait go on, knowing all that came before in all that arrived, and
// the barrier is as new.

#pragma once

#include "../record.h"

namespace tritonc::emulator::ops {

/// Barrier 0 with all threads of the block.
void barrier(const WarpCall<void()> &call);
/// Operands: which barrier, how many threads.
void barrier_sync(const WarpCall<void(uint32_t, uint32_t)> &call);
void barrier_arrive(const WarpCall<void(uint32_t, uint32_t)> &call);
/// Orders what threads of the warp do to memory.
void warp_sync(const WarpCall<void()> &call);

} // namespace tritonc::emulator::ops
