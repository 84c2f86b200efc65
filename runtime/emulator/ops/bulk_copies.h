// Bulk copies of bytes between global and shared memory by TMA units, and the bulk groups of copies
// from shared memory (PTX ISA, "cp.async.bulk", "cp.async.bulk.commit_group",
// "cp.async.bulk.wait_group").

#pragma once

#include "../reports.h"

#include <cstdint>

namespace tritonc::emulator::ops {

/// Copies `bytes`, a multiple of 16, to shared address `to`; counts them on `mbarrier`.
void bulk_load(Thread &thread, const Site &site, uint32_t to, const void *from, uint32_t bytes,
               uint32_t mbarrier);
/// Counts the bytes of a copy to shared address `to` that was left out, as if it had landed. The
/// emulator writes 0xff there (NaN as f32, f16, bf16, f64), at any time until it counts the bytes.
void mbarrier_complete_tx(Thread &thread, const Site &site, uint32_t mbarrier, uint32_t bytes,
                          uint32_t to);
/// Copies `bytes`, a multiple of 16, from shared address `from`.
void bulk_store(Thread &thread, const Site &site, void *to, uint32_t from, uint32_t bytes);

/// Makes a group of the thread's copies from shared memory since the last commit.
void bulk_commit(Thread &thread, const Site &site);
/// Wait until all groups but the last `pending` have finished; `_read`: have read their sources.
void bulk_wait(Thread &thread, const Site &site, uint32_t pending);
void bulk_wait_read(Thread &thread, const Site &site, uint32_t pending);

} // namespace tritonc::emulator::ops
