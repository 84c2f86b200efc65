// Implements the special registers. See special_registers.h.

#include "special_registers.h"

#include "../launch_state.h"

namespace tritonc::emulator::ops {

uint32_t tid(Thread &thread, const Site &) { return thread.id; }

const Dim3 &position::grid(const Thread &thread) { return thread.cluster->launch->launch.grid; }

uint32_t cluster_ctarank(Thread &thread, const Site &) { return thread.block->rank; }

uint32_t cluster_nctarank(Thread &thread, const Site &) {
  return uint32_t(thread.cluster->blocks.size());
}

} // namespace tritonc::emulator::ops
