// cp.async: copies of a few bytes from global to shared memory that a thread issues and waits for
// by itself (PTX ISA, "cp.async").
//
// They are accesses of that thread through the generic proxy, made when they are issued
// (Async::early) or when the thread waits for them (late). A program must be right with both:
// the first finds buffers that are overwritten too soon, the second those read too soon. Until a
// late copy lands its destination counts as unwritten, and nobody may write there; and it has to
// land before the block ends, since PTX does not say that the block's memory waits for it.

#pragma once

#include "../findings.h"

#include <cstdint>

namespace tritonc::emulator {
struct Block;
}

namespace tritonc::emulator::ops {

/// To shared address `to`: the first `bytes` of `width` (4, 8, 16) come from `from`, the rest is 0.
template <unsigned width>
void cp_async(Thread &thread, const Site &site, uint32_t to, const void *from, uint32_t bytes);
extern template void cp_async<4>(Thread &, const Site &, uint32_t, const void *, uint32_t);
extern template void cp_async<8>(Thread &, const Site &, uint32_t, const void *, uint32_t);
extern template void cp_async<16>(Thread &, const Site &, uint32_t, const void *, uint32_t);

void cp_async_commit(Thread &thread, const Site &site);
/// Until at most the last `pending` commits are under way.
void cp_async_wait(Thread &thread, const Site &site, uint32_t pending);
/// The mbarrier gets one of the arrivals that it was made for when all copies that the thread has
/// issued have landed.
void cp_async_mbarrier_arrive(Thread &thread, const Site &site, uint32_t address);

/// The block's threads have all exited. Reports copies that have not landed.
void check_copies_at_end(Block &block);

} // namespace tritonc::emulator::ops
