// Fences, sched_barrier, and the two operations of programmatic dependent launch.
//
// A fence makes no thread wait. Barriers and clocks determine which actors come after the fence.

#pragma once

#include "../reports.h"

namespace tritonc::emulator::ops {

/// Makes the thread's earlier writes to shared memory visible to the async proxy: to bulk copies,
/// tensor copies, and wgmma that come after this fence (PTX ISA, "fence.proxy.async").
void fence_proxy_async(Thread &thread, const Site &site);
/// Makes the mbarriers that the thread has initialized usable by other blocks and copies.
void fence_mbarrier_init(Thread &thread, const Site &site);
/// Do nothing: the emulator's memory is sequentially consistent, and only barriers order accesses
/// here.
void fence_cta(Thread &thread, const Site &site);
void fence_gpu(Thread &thread, const Site &site);
/// Does nothing: it is for ptxas.
void sched_barrier(Thread &thread, const Site &site);
/// The emulator runs launches one after another, so launch_dependents does nothing. With
/// Launch::starts_early, a thread must not access global memory before its dependency_wait.
void launch_dependents(Thread &thread, const Site &site);
void dependency_wait(Thread &thread, const Site &site);

} // namespace tritonc::emulator::ops
