// Implements the cluster barrier and access to other blocks' shared memory. See clusters.h.
//
// Tested by tests/unit/emulator/clusters_test.cpp.

#include "clusters.h"

#include "../machine.h"
#include "bulk_async.h"
#include "copies.h"
#include "lifetimes.h"
#include "mbarriers.h"

#include <cstring>

namespace tritonc::emulator::ops {
namespace {

using Kind = Report::Kind;

class Word final : public Source {
public:
  explicit Word(uint32_t value) : value_(value) {}
  void read(const Access &, std::byte *to) override { std::memcpy(to, &value_, sizeof value_); }

private:
  uint32_t value_;
};

void end_phase_if_complete(Cluster &cluster) {
  ClusterBarrier &barrier = cluster.ops.barrier;
  unsigned live = 0;
  for (const Block &block : cluster.blocks)
    live += block.live;
  if (barrier.arrived < live || barrier.arrived == 0)
    return;
  cluster.clocks.join(barrier.ended, barrier.arriving);
  barrier.arriving = Clock();
  barrier.arrived = 0;
  barrier.phase++;
  for (Warp *warp : barrier.waiting) {
    for (unsigned lane = 0; lane < warp_size; lane++)
      cluster.clocks.acquire(warp->threads[lane].actor, barrier.ended);
    wake_warp(*warp);
  }
  barrier.waiting.clear();
}

void arrive(const WarpCall<void()> &call, const char *what, bool release) {
  Cluster &cluster = call.cluster();
  Warp &warp = call.warp();
  ClusterBarrier &barrier = cluster.ops.barrier;
  if (warp.ops.at_cluster_barrier)
    fatal(
        call.thread(0), call.site, Kind::misuse,
        "%s by a warp that has already arrived at the cluster barrier\nnote: execute cluster_wait "
        "between two arrivals",
        what);
  warp.ops.at_cluster_barrier = true;
  warp.ops.cluster_phase = barrier.phase;
  announce_mbarriers(warp, barrier.phase);
  if (release)
    for (unsigned lane = 0; lane < warp_size; lane++)
      cluster.clocks.release(call.thread(lane).actor, barrier.arriving);
  barrier.arrived += warp_size;
  end_phase_if_complete(cluster);
}

Access access_to(Thread &thread, const Site &site, const char *what) {
  Access access = access_by(thread, site, what);
  access.reach = Reach::cluster;
  return access;
}

/// Checks an access to `bytes` at `address`, aligned to `bytes`, in any block of the cluster.
void touch(const Access &access, uint32_t address, uint32_t bytes = 4) {
  Cluster &cluster = *access.thread.cluster;
  cluster.scheduler.maybe_interrupt(access.thread);
  cluster.shared.locate(access, address, bytes, bytes);
  Block &block = cluster.blocks[cluster.shared.rank(address)];
  if (&block != access.thread.block)
    use_from_outside(access, block);
}

} // namespace

void cluster_arrive(const WarpCall<void()> &call) { arrive(call, "cluster_arrive", true); }

void cluster_arrive_relaxed(const WarpCall<void()> &call) {
  arrive(call, "cluster_arrive_relaxed", false);
}

void cluster_wait(const WarpCall<void()> &call) {
  Cluster &cluster = call.cluster();
  Warp &warp = call.warp();
  ClusterBarrier &barrier = cluster.ops.barrier;
  if (!warp.ops.at_cluster_barrier)
    fatal(call.thread(0), call.site, Kind::misuse,
          "cluster_wait by a warp that has not arrived at the cluster barrier\nnote: execute "
          "cluster_arrive first");
  warp.ops.at_cluster_barrier = false;
  warp.ops.cluster_phases = warp.ops.cluster_phase + 1; // when this returns
  if (warp.ops.cluster_phase ==
      barrier.phase) { // no other warp can be further, because this warp has not waited
    barrier.waiting.push_back(&warp);
    call.suspend({"the cluster barrier", 0, 0, &call.site, nullptr});
    return;
  }
  for (unsigned lane = 0; lane < warp_size; lane++)
    cluster.clocks.acquire(call.thread(lane).actor, barrier.ended);
}

uint32_t map_shared_rank(Thread &thread, const Site &site, uint32_t address, uint32_t rank) {
  Cluster &cluster = *thread.cluster;
  if (rank >= cluster.blocks.size())
    fatal(thread, site, Kind::misuse,
          "map_shared_rank: the cluster has %zu blocks, but the rank is %u", cluster.blocks.size(),
          rank);
  if (!cluster.shared.contains(address) || cluster.shared.rank(address) != thread.block->rank)
    fatal(thread, site, Kind::out_of_bounds,
          "map_shared_rank: address 0x%x is not in the block's shared memory", address);
  return address - cluster.shared.base(thread.block->rank) + cluster.shared.base(rank);
}

uint32_t load_cluster(Thread &thread, const Site &site, uint32_t address) {
  Access access = access_to(thread, site, "load_cluster");
  touch(access, address);
  uint32_t value;
  std::memcpy(&value, thread.cluster->shared.read(access, address, 4, 4), 4);
  return value;
}

Words<4> load_cluster_x4(Thread &thread, const Site &site, uint32_t address) {
  Access access = access_to(thread, site, "load_cluster_x4");
  touch(access, address, 16);
  Words<4> words;
  std::memcpy(&words, thread.cluster->shared.read(access, address, 16, 16), 16);
  return words;
}

void store_cluster(Thread &thread, const Site &site, uint32_t address, uint32_t value) {
  Access access = access_to(thread, site, "store_cluster");
  touch(access, address);
  std::memcpy(thread.cluster->shared.write(access, address, 4, 4), &value, 4);
}

void store_async_cluster(Thread &thread, const Site &site, uint32_t address, uint32_t value,
                         uint32_t mbarrier) {
  Cluster &cluster = *thread.cluster;
  cluster.scheduler.maybe_interrupt(thread);
  Access access = access_to(thread, site, "store_async_cluster");
  cluster.shared.locate(access, address, 4, 4);
  const unsigned rank = cluster.shared.rank(address);
  if (!cluster.shared.contains(mbarrier) || cluster.shared.rank(mbarrier) != rank)
    fatal(thread, site, Kind::misuse,
          "store_async_cluster to block %u of the cluster, but its mbarrier is not in that block",
          rank);
  const uint32_t to_own = thread.shared_base - cluster.shared.base(rank);
  Issue issue = {thread, site, "store_async_cluster", address + to_own, 4, 4};
  check_copy_in(issue, mbarrier + to_own, 1u << rank);
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(std::make_unique<Word>(value));
  start_copy_in(issue, mbarrier + to_own, 1u << rank, std::move(sources));
}

void thread_exited(Thread &thread) {
  Block &block = *thread.block;
  if (thread.cluster->ops.barrier.arrived > 0)
    end_phase_if_complete(*thread.cluster);
  if (block.live == 0) {
    check_lifetime(block);
    check_copies_at_end(block);
    check_mbarriers_at_end(block);
  }
}

} // namespace tritonc::emulator::ops
