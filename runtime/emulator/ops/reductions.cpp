// Implements atomic additions of packed 16-bit floats. See reductions.h.
//
// Tested by tests/unit/emulator/reductions_test.cpp.

#include "reductions.h"

#include "../models/numbers.h"

#include <atomic>

namespace tritonc::emulator::ops {
namespace {

template <uint16_t (*add)(uint16_t, uint16_t)>
void add_halves(Thread &thread, const Site &site, void *address, uint32_t halves) {
  thread.cluster->scheduler.maybe_interrupt(thread);
  Access access = access_by(thread, site, "atomic operation");
  std::byte *place = thread.cluster->global.atomic(access, address, 4, 4);
  // Other OS threads may run other blocks, so the addition must be atomic on the host, too.
  std::atomic_ref<uint32_t> word(*reinterpret_cast<uint32_t *>(place));
  uint32_t old = word.load(std::memory_order_relaxed), sum;
  do
    sum = uint32_t(add(uint16_t(old), uint16_t(halves))) |
          uint32_t(add(uint16_t(old >> 16), uint16_t(halves >> 16))) << 16;
  while (!word.compare_exchange_weak(old, sum));
}

} // namespace

void red_add_f16x2(Thread &thread, const Site &site, void *address, uint32_t halves) {
  add_halves<models::add_half>(thread, site, address, halves);
}

void red_add_bf16x2(Thread &thread, const Site &site, void *address, uint32_t halves) {
  add_halves<models::add_bfloat16>(thread, site, address, halves);
}

} // namespace tritonc::emulator::ops
