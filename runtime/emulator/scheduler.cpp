// Picks the next thread and switches to it. See scheduler.h.
//
// Tested by tests/unit/emulator/schedule_test.cpp.

#include "scheduler.h"

#include "launch_state.h"
#include "machine.h"

#include <boost/context/detail/fcontext.hpp>

#include <bit>

namespace tritonc::emulator {

namespace context = boost::context::detail;

namespace {

/// Index of the n-th set bit.
unsigned nth_bit(uint64_t mask, unsigned n) {
  while (n--)
    mask &= mask - 1;
  return unsigned(std::countr_zero(mask));
}

} // namespace

void Scheduler::start(unsigned warps, Order order, Async async, uint64_t seed) {
  order_ = order;
  async_ = async;
  random_ = Random(seed);
  switches_ = 0;
  ready_.assign(warps, all_lanes);
  ready_warps_.assign((warps + 63) / 64, 0);
  for (unsigned warp = 0; warp < warps; warp++)
    ready_warps_[warp / 64] |= uint64_t(1) << (warp % 64);
  until_interrupt_ = order == Order::random ? random_.below(64) : INT64_MAX;
}

// ---- the next thread ----

namespace {

// The first set bit at or after `from`, with wraparound. Requires a set bit.
unsigned next_bit(const std::vector<uint64_t> &words, unsigned from) {
  unsigned word = from / 64;
  if (uint64_t rest = words[word] >> (from % 64))
    return from + unsigned(std::countr_zero(rest));
  do
    word = word + 1 < words.size() ? word + 1 : 0;
  while (!words[word]);
  return word * 64 + unsigned(std::countr_zero(words[word]));
}

// The last set bit at or before `from`, with wraparound.
unsigned previous_bit(const std::vector<uint64_t> &words, unsigned from) {
  unsigned word = from / 64;
  if (uint64_t rest = words[word] << (63 - from % 64))
    return from - unsigned(std::countl_zero(rest));
  do
    word = word > 0 ? word - 1 : unsigned(words.size()) - 1;
  while (!words[word]);
  return word * 64 + 63 - unsigned(std::countl_zero(words[word]));
}

bool any(const std::vector<uint64_t> &words) {
  for (uint64_t word : words)
    if (word)
      return true;
  return false;
}

} // namespace

Thread *Scheduler::pick(const Thread *from) {
  if (order_ == Order::random)
    return pick_any();
  unsigned warp = from->warp->number, lane = from->lane;
  if (uint32_t mask = ready_[warp]) {
    // The same warp first: threads of a warp wait for each other most often.
    unsigned next;
    if (order_ == Order::forward) {
      uint32_t after = mask & (all_lanes << lane);
      next = unsigned(std::countr_zero(after ? after : mask));
    } else {
      uint32_t before = mask & (all_lanes >> (31 - lane));
      next = 31 - unsigned(std::countl_zero(before ? before : mask));
    }
    return cluster_.warps[warp].threads + next;
  }
  if (!any(ready_warps_))
    return nullptr;
  if (order_ == Order::forward) {
    warp = next_bit(ready_warps_, warp);
    return cluster_.warps[warp].threads + std::countr_zero(ready_[warp]);
  }
  warp = previous_bit(ready_warps_, warp);
  return cluster_.warps[warp].threads + 31 - std::countl_zero(ready_[warp]);
}

Thread *Scheduler::pick_any() {
  unsigned count = 0;
  for (uint64_t word : ready_warps_)
    count += unsigned(std::popcount(word));
  if (count == 0)
    return nullptr;
  unsigned n = random_.below(count), word = 0;
  for (;; word++) {
    unsigned here = unsigned(std::popcount(ready_warps_[word]));
    if (n < here)
      break;
    n -= here;
  }
  unsigned warp = word * 64 + nth_bit(ready_warps_[word], n);
  uint32_t lanes = ready_[warp];
  return cluster_.warps[warp].threads +
         nth_bit(lanes, random_.below(unsigned(std::popcount(lanes))));
}

// ---- switching ----

namespace {

// The start of each fiber. A fiber that resumes after a jump first stores the other's context.
void enter(context::transfer_t transfer) {
  auto *scheduler = static_cast<Scheduler *>(transfer.data);
  Thread &thread = scheduler->arrive(transfer.fctx);
  LaunchState &launch = *thread.cluster->launch;
  launch.code.entry(launch.operations.data(), &thread, launch.launch.arguments);
  scheduler->exit(thread);
}

} // namespace

Thread &Scheduler::arrive(Context from) {
  (from_ ? from_->context : home_) = from;
  return *current_;
}

void Scheduler::jump(Thread *from, Thread &to) {
  switches_++;
  from_ = from;
  current_ = &to;
  context::transfer_t transfer = context::jump_fcontext(to.context, this);
  arrive(transfer.fctx);
}

Context Scheduler::make_context(std::byte *top) {
  return context::make_fcontext(top, stack_bytes / 2, enter);
}

void Scheduler::run() {
  Thread *first = nullptr;
  switch (order_) {
  case Order::forward:
    first = &cluster_.threads.front();
    break;
  case Order::reversed:
    first = &cluster_.threads.back();
    break;
  case Order::random:
    first = pick_any();
    break;
  }
  jump(nullptr, *first);
}

void Scheduler::switch_from(Thread &thread) {
  if (async_ == Async::random && !cluster_.pending.empty() && random_.below(8) == 0)
    cluster_.pending.land_any(size_t(random_.next()));
  Thread *next;
  while (!(next = pick(&thread)))
    if (!cluster_.pending.land_first())
      cluster_.deadlock();
  if (next != &thread)
    jump(&thread, *next);
}

void Scheduler::exit(Thread &thread) {
  set_waiting(thread.warp->number, 1u << thread.lane);
  cluster_.exited(thread);
  Thread *next;
  while (!(next = pick(&thread))) {
    if (cluster_.pending.land_first())
      continue;
    if (cluster_.all_exited())
      leave();
    cluster_.deadlock();
  }
  jump(&thread, *next);
  __builtin_unreachable();
}

void Scheduler::leave() {
  context::jump_fcontext(home_, this);
  __builtin_unreachable();
}

void Scheduler::interrupt(Thread &thread) {
  if (order_ != Order::random) {
    until_interrupt_ = INT64_MAX;
    return;
  }
  until_interrupt_ = 1 + random_.below(128);
  switch_from(thread);
}

void Scheduler::yield(Thread &thread) {
  // Any ready thread: the next in order may poll for the same event, which would never end.
  Thread *next = pick_any();
  if (next != &thread)
    jump(&thread, *next);
}

} // namespace tritonc::emulator
