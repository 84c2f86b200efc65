// Implements the votes and the election of a warp. See shuffle.h.
//
// Tested by tests/unit/emulator/shuffle_test.cpp.

#include "shuffle.h"

namespace tritonc::emulator::ops {
namespace {

using Vote = WarpCall<uint32_t(uint32_t)>;

uint32_t votes(const Vote &call) {
  uint32_t mask = 0;
  for (unsigned lane = 0; lane < warp_size; lane++)
    mask |= uint32_t(call.operand<0>(lane) != 0) << lane;
  return mask;
}

void tell_all(const Vote &call, uint32_t value) {
  for (unsigned lane = 0; lane < warp_size; lane++)
    call.result(lane) = value;
}

} // namespace

void ballot(const Vote &call) { tell_all(call, votes(call)); }
void vote_any(const Vote &call) { tell_all(call, votes(call) != 0); }
void vote_all(const Vote &call) { tell_all(call, votes(call) == all_lanes); }

void elect(const WarpCall<uint32_t()> &call) {
  for (unsigned lane = 0; lane < warp_size; lane++)
    call.result(lane) = lane == 0;
}

} // namespace tritonc::emulator::ops
