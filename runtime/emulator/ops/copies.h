// cp.async: copies of 4, 8, or 16 bytes from global to shared memory; the issuing thread waits for
// them (PTX ISA, "cp.async").
//
// They are accesses of that thread through the generic proxy. They happen when they are issued
// (Async::early) or when the thread waits for them (late). A program must be correct with both. The
// first finds buffers that are overwritten too soon, the second finds buffers that are read too
// soon. Until a late copy lands, its destination counts as unwritten, and no thread may write
// there. The copy must land before the block ends: PTX does not guarantee that the block's memory
// waits for it.

#pragma once

#include "../reports.h"

#include <cstdint>

namespace tritonc::emulator {
struct Block;
}

namespace tritonc::emulator::ops {

/// Copies `bytes` from `from` to shared address `to` and fills up to `width` (4, 8, 16) with 0.
template <unsigned width>
void cp_async(Thread &thread, const Site &site, uint32_t to, const void *from, uint32_t bytes);
extern template void cp_async<4>(Thread &, const Site &, uint32_t, const void *, uint32_t);
extern template void cp_async<8>(Thread &, const Site &, uint32_t, const void *, uint32_t);
extern template void cp_async<16>(Thread &, const Site &, uint32_t, const void *, uint32_t);

void cp_async_commit(Thread &thread, const Site &site);
/// Waits until at most the last `pending` commits are pending.
void cp_async_wait(Thread &thread, const Site &site, uint32_t pending);
/// The mbarrier gets one arrival (of its count) when all copies that the thread has issued so far
/// have landed.
void cp_async_mbarrier_arrive(Thread &thread, const Site &site, uint32_t address);

/// Call after all threads of the block have exited. Reports copies that have not landed.
void check_copies_at_end(Block &block);

} // namespace tritonc::emulator::ops
