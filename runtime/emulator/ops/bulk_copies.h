// Copies of bytes between global and shared memory by copy engines, and the groups that copies out
// of shared memory form (PTX ISA, "cp.async.bulk", "cp.async.bulk.commit_group",
// "cp.async.bulk.wait_group").

#pragma once

#include "../findings.h"

#include <cstdint>

namespace tritonc::emulator::ops {

/// `bytes`, a multiple of 16, to shared address `to`; they count on `mbarrier`.
void bulk_load(Thread &thread, const Site &site, uint32_t to, const void *from, uint32_t bytes,
               uint32_t mbarrier);
/// ... from shared address `from`.
void bulk_store(Thread &thread, const Site &site, void *to, uint32_t from, uint32_t bytes);

/// What the thread has copied out of shared memory since the last commit is a group.
void bulk_commit(Thread &thread, const Site &site);
/// Until all groups but the last `pending` are done; have read their sources.
void bulk_wait(Thread &thread, const Site &site, uint32_t pending);
void bulk_wait_read(Thread &thread, const Site &site, uint32_t pending);

} // namespace tritonc::emulator::ops
