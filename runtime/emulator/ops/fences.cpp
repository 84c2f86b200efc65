// Implements the fences and the operations of programmatic dependent launch. See fences.h.

#include "fences.h"

#include "../machine.h"
#include "mbarriers.h"

namespace tritonc::emulator::ops {

void fence_proxy_async(Thread &thread, const Site &) {
  fence_mbarriers(thread);
  thread.cluster->clocks.fence(thread.actor);
}

void fence_mbarrier_init(Thread &thread, const Site &) { fence_mbarriers(thread); }

void fence_cta(Thread &thread, const Site &) { thread.cluster->scheduler.maybe_interrupt(thread); }
void fence_gpu(Thread &thread, const Site &) { thread.cluster->scheduler.maybe_interrupt(thread); }
void sched_barrier(Thread &, const Site &) {}
void launch_dependents(Thread &, const Site &) {}
void dependency_wait(Thread &thread, const Site &) { thread.ops.may_be_early = false; }

} // namespace tritonc::emulator::ops
