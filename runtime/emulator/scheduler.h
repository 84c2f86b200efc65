// The scheduler: tracks the ready threads of a cluster and switches to the next thread.
//
// Each warp has a mask of its ready lanes. One bit of a second-level mask says whether that mask is
// nonzero. So the scheduler finds the next thread in a few instructions and never rebuilds a queue.
// Threads switch to each other directly.

#pragma once

#include "emulator.h"
#include "fiber.h"

#include <cstdint>
#include <vector>

namespace tritonc::emulator {

class Cluster;
struct Thread;

/// A small, fast random number generator (splitmix64).
class Random {
public:
  explicit Random(uint64_t seed = 0) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [0, n).
  uint32_t below(uint32_t n) { return uint32_t((uint64_t(uint32_t(next())) * n) >> 32); }

private:
  uint64_t state_;
};

class Scheduler {
public:
  explicit Scheduler(Cluster &cluster) : cluster_(cluster) {}

  /// Call before a cluster runs. Makes all threads ready.
  void start(unsigned warps, Order order, Async async, uint64_t seed);

  /// Runs all threads; returns when all have exited or when the launch must end.
  void run();

  void set_ready(unsigned warp, uint32_t lanes) {
    ready_[warp] |= lanes;
    ready_warps_[warp / 64] |= uint64_t(1) << (warp % 64);
  }
  void set_waiting(unsigned warp, uint32_t lanes) {
    if (!(ready_[warp] &= ~lanes))
      ready_warps_[warp / 64] &= ~(uint64_t(1) << (warp % 64));
  }
  uint32_t ready(unsigned warp) const { return ready_[warp]; }

  /// Suspends the running thread, which is no longer ready, and runs another. Returns after another
  /// thread has made this thread ready and the scheduler picks it.
  void switch_from(Thread &thread);
  /// Ends the running thread.
  [[noreturn]] void exit(Thread &thread);
  /// Leaves all threads and returns to the caller of `run`.
  [[noreturn]] void leave();

  /// With Order::random, sometimes runs other threads first. Call it at operations where another
  /// thread could overtake a real one. Cheap otherwise.
  void maybe_interrupt(Thread &thread) {
    if (--until_interrupt_ < 0)
      interrupt(thread);
  }
  /// Runs other threads, if any is ready.
  void yield(Thread &thread);

  /// The start context of a thread whose stack ends at `top`.
  static Context make_context(std::byte *top);
  /// The fiber that resumes after a jump calls this; `from` is the context of the fiber that
  /// jumped. Returns the running thread.
  Thread &arrive(Context from);

  Random &random() { return random_; }
  uint64_t switches() const { return switches_; }

private:
  Thread *pick(const Thread *from);
  Thread *pick_any();
  void interrupt(Thread &thread);
  void jump(Thread *from, Thread &to);

  Cluster &cluster_;
  Order order_ = Order::forward;
  Async async_ = Async::early;
  Random random_;
  Context home_ = nullptr;    // of `run`
  Thread *from_ = nullptr;    // that jumped last; null = `run`
  Thread *current_ = nullptr; // the running thread
  int64_t until_interrupt_ = 0;
  uint64_t switches_ = 0;
  std::vector<uint32_t> ready_;       // a mask of lanes per warp
  std::vector<uint64_t> ready_warps_; // a bit per warp
};

} // namespace tritonc::emulator
