// Special registers: a thread's indices in block, grid, and cluster (PTX ISA, "Special Registers").

#pragma once

#include "../machine.h"

namespace tritonc::emulator::ops {

uint32_t tid(Thread &thread, const Site &site);

namespace position {
constexpr uint32_t part(const Dim3 &dim, int axis) {
  return axis == 0 ? dim.x : axis == 1 ? dim.y : dim.z;
}
const Dim3 &grid(const Thread &thread);
} // namespace position

template <int axis> uint32_t ctaid(Thread &thread, const Site &) {
  return position::part(thread.block->id, axis);
}
template <int axis> uint32_t nctaid(Thread &thread, const Site &) {
  return position::part(position::grid(thread), axis);
}

uint32_t cluster_ctarank(Thread &thread, const Site &site);
uint32_t cluster_nctarank(Thread &thread, const Site &site);

} // namespace tritonc::emulator::ops
