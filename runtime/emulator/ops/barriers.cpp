// Implements the barriers of a warp and of a block. See barriers.h.
//
// Tested by tests/unit/emulator/barriers_test.cpp.

#include "barriers.h"

#include <array>
#include <vector>

namespace tritonc::emulator::ops {
namespace {

std::array<Actor, warp_size> actors_of(const Warp &warp) {
  std::array<Actor, warp_size> actors;
  for (unsigned lane = 0; lane < warp_size; lane++)
    actors[lane] = warp.threads[lane].actor;
  return actors;
}

// All threads have arrived: wakes the waiting threads.
void complete(Cluster &cluster, NamedBarrier &barrier) {
  if (cluster.races) {
    std::vector<Actor> actors;
    for (const Warp *warp : barrier.waiting)
      for (Actor actor : actors_of(*warp))
        actors.push_back(actor);
    cluster.clocks.meet(actors.data(), actors.size(), std::move(barrier.clock));
  }
  for (Warp *warp : barrier.waiting)
    wake_warp(*warp);
  barrier.reset();
}

// The warp arrives at a barrier. Returns true if all threads have arrived.
bool arrive(Thread &thread, const Site &site, NamedBarrier &barrier, uint32_t id,
            uint32_t threads) {
  unsigned per_block = thread.cluster->threads_per_block();
  if (threads == 0 || threads % warp_size != 0 || threads > per_block)
    fatal(thread, site, Report::Kind::misuse,
          "barrier %u with %u threads: expected a multiple of 32, at most the %u threads of the "
          "block",
          id, threads, per_block);
  if (barrier.expected != 0 && barrier.expected != threads)
    fatal(thread, site, Report::Kind::misuse,
          "barrier %u with %u threads, but other threads wait at it for %u threads", id, threads,
          barrier.expected);
  barrier.expected = threads;
  barrier.arrived += warp_size;
  return barrier.arrived == threads;
}

template <typename Call> void sync(const Call &call, uint32_t id, uint32_t threads) {
  NamedBarrier &barrier = call.block().barriers[id];
  bool is_complete = arrive(call.thread(0), call.site, barrier, id, threads);
  barrier.waiting.push_back(&call.warp());
  if (is_complete)
    complete(call.cluster(), barrier);
  else if (id == 0 && threads == call.cluster().threads_per_block())
    call.suspend({"the barrier", 0, 0, &call.site});
  else
    call.suspend({"barrier %u for %u threads", id, threads, &call.site});
}

// The operands must be equal in all lanes.
using Named = WarpCall<void(uint32_t, uint32_t)>;
uint32_t barrier_number(const Named &call) {
  uint32_t id = call.operand<0>(0), threads = call.operand<1>(0);
  for (unsigned lane = 1; lane < warp_size; lane++)
    if (call.operand<0>(lane) != id || call.operand<1>(lane) != threads)
      fatal(call.thread(lane), call.site, Report::Kind::divergence,
            "barrier %u with %u threads, but thread %u of the warp is at barrier %u with %u "
            "threads",
            call.operand<0>(lane), call.operand<1>(lane), call.thread(0).id, id, threads);
  if (id >= 16)
    fatal(call.thread(0), call.site, Report::Kind::misuse,
          "unknown barrier %u: a block has barriers 0 to 15", id);
  return id;
}

} // namespace

void barrier(const WarpCall<void()> &call) { sync(call, 0, call.cluster().threads_per_block()); }

void barrier_sync(const Named &call) { sync(call, barrier_number(call), call.operand<1>(0)); }

void barrier_arrive(const Named &call) {
  uint32_t id = barrier_number(call);
  NamedBarrier &barrier = call.block().barriers[id];
  bool is_complete = arrive(call.thread(0), call.site, barrier, id, call.operand<1>(0));
  auto actors = actors_of(call.warp());
  call.cluster().clocks.release(actors.data(), actors.size(), barrier.clock);
  if (is_complete)
    complete(call.cluster(), barrier);
}

void warp_sync(const WarpCall<void()> &call) {
  auto actors = actors_of(call.warp());
  call.cluster().clocks.meet(actors.data(), actors.size());
}

} // namespace tritonc::emulator::ops
