// Who runs next: the ready threads of a cluster, and switching to one of them.
//
// Each warp has a mask of its ready lanes, and a bit of a second-level mask says whether that is
// zero, so finding the next thread takes a few instructions and nothing is ever rebuilt. Threads
// switch to one another directly.

#pragma once

#include "emulator.h"
#include "fiber.h"

#include <cstdint>
#include <vector>

namespace tritonc::emulator {

class Cluster;
struct Thread;

/// A small, fast generator of random numbers (splitmix64).
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

  /// Before a cluster runs: all threads are ready.
  void start(unsigned warps, Order order, Async async, uint64_t seed);

  /// Runs all threads; returns when all have exited or the launch is to end.
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

  /// The running thread, which is not ready any more, lets another run. Returns when somebody has
  /// made it ready and it is its turn.
  void switch_from(Thread &thread);
  /// The running thread has come to its end.
  [[noreturn]] void exit(Thread &thread);
  /// Back to `run`, for good.
  [[noreturn]] void leave();

  /// With Order::random, now and then lets others run: to be called at operations at which real
  /// threads could be overtaken. Cheap otherwise.
  void maybe_interrupt(Thread &thread) {
    if (--until_interrupt_ < 0)
      interrupt(thread);
  }
  /// Lets others run, if there are any that can.
  void yield(Thread &thread);

  /// Where a thread on the stack that ends at `top` begins.
  static Context make_context(std::byte *top);
  /// Who goes on after a jump calls it: `from` is where the other one stopped. The running thread.
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
  Thread *from_ = nullptr;    // of the last jump; null: `run`
  Thread *current_ = nullptr; // who runs
  int64_t until_interrupt_ = 0;
  uint64_t switches_ = 0;
  std::vector<uint32_t> ready_;       // a mask of lanes per warp
  std::vector<uint64_t> ready_warps_; // a bit per warp
};

} // namespace tritonc::emulator
