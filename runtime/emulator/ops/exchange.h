// What the threads of a warp learn of each other's registers: shuffles, votes, an election (PTX
// ISA, "shfl.sync", "vote.sync", "elect.sync"). Always all 32, and no memory is ordered.

#pragma once

#include "../record.h"

namespace tritonc::emulator::ops {

enum class Shuffle { bfly, idx, up, down };

/// Which lane's value `lane` gets; its own, where there is no such lane.
constexpr unsigned source_lane(Shuffle kind, unsigned lane, uint32_t operand) {
  operand &= 31; // the hardware looks at five bits
  switch (kind) {
  case Shuffle::bfly:
    return lane ^ operand;
  case Shuffle::idx:
    return operand;
  case Shuffle::up:
    return operand > lane ? lane : lane - operand;
  case Shuffle::down:
    return lane + operand > 31 ? lane : lane + operand;
  }
  return lane;
}

template <Shuffle kind> void shuffle(const WarpCall<uint32_t(uint32_t, uint32_t)> &call) {
  for (unsigned lane = 0; lane < warp_size; lane++)
    call.result(lane) = call.template operand<0>(source_lane(kind, lane, call.operand<1>(lane)));
}

void ballot(const WarpCall<uint32_t(uint32_t)> &call);
void vote_any(const WarpCall<uint32_t(uint32_t)> &call);
void vote_all(const WarpCall<uint32_t(uint32_t)> &call);
/// 1 in the lowest lane, 0 in the others.
void elect(const WarpCall<uint32_t()> &call);

} // namespace tritonc::emulator::ops
