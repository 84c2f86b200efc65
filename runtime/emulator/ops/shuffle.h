// Shuffles, votes, and the election of a warp (PTX ISA, "shfl.sync", "vote.sync", "elect.sync").
// All 32 threads take part. These operations order no memory accesses.

#pragma once

#include "../record.h"

namespace tritonc::emulator::ops {

enum class Shuffle { bfly, idx, up, down };

/// The lane whose value `lane` gets; `lane` itself if the source lane does not exist.
constexpr unsigned source_lane(Shuffle kind, unsigned lane, uint32_t operand) {
  operand &= 31; // the hardware uses five bits
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
/// Returns 1 in lane 0 and 0 in the other lanes.
void elect(const WarpCall<uint32_t()> &call);

} // namespace tritonc::emulator::ops
