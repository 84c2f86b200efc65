// Fences: which accesses others may rely on once they learn that a thread has come so far.
//
// A fence makes no thread wait. What learns of it, and when, is a matter of barriers and clocks.

#pragma once

#include "../findings.h"

namespace tritonc::emulator::ops {

/// What the thread has written to shared memory is good for the async proxy: for bulk and tensor
/// copies and wgmma of those who learn of this point (PTX ISA, "fence.proxy.async").
void fence_proxy_async(Thread &thread, const Site &site);
/// Other blocks and copies may use the mbarriers that the thread has initialised.
void fence_mbarrier_init(Thread &thread, const Site &site);
/// Nothing to do here: memory is sequentially consistent, and what needs ordering needs a
/// barrier, which implies this.
void fence_cta(Thread &thread, const Site &site);
void fence_gpu(Thread &thread, const Site &site);
/// Launches are run one after another, so there is nothing to let start and nothing to wait for.
/// But where a kernel waits at all, global memory is for none of its threads before it has waited.
void launch_dependents(Thread &thread, const Site &site);
void dependency_wait(Thread &thread, const Site &site);

} // namespace tritonc::emulator::ops
