// The barrier of a cluster: who has come to it (clusters.h has the operations).

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
  uint64_t phase = 0;   // how many have ended
  Clock arriving;       // what those who arrived in this phase have seen
  Clock ended;          // what those who wait for the end of a phase learn of
  std::vector<Warp *> waiting;

  void reset() {
    if (phase == 0 && arrived == 0)
      return;
    *this = ClusterBarrier();
  }
};

} // namespace tritonc::emulator::ops
