// The state of a cluster's barrier (clusters.h has the operations).

#pragma once

#include "../clocks.h"

#include <cstdint>
#include <vector>

namespace tritonc::emulator {
struct Warp;
} // namespace tritonc::emulator

namespace tritonc::emulator::ops {

struct ClusterBarrier {
  uint32_t arrived = 0; // threads, in this phase
  uint64_t phase = 0;   // number of ended phases
  Clock arriving;       // released by the arrivals of this phase
  Clock ended;          // acquired by threads that wait for the end of a phase
  std::vector<Warp *> waiting;

  void reset() {
    if (phase == 0 && arrived == 0)
      return;
    *this = ClusterBarrier();
  }
};

} // namespace tritonc::emulator::ops
