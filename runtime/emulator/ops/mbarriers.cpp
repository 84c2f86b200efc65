// Implements mbarriers. See mbarriers.h.
//
// Tested by tests/unit/emulator/mbarriers_test.cpp.

#include "mbarriers.h"

#include "../machine.h"
#include "lifetimes.h"

#include <cinttypes>

namespace tritonc::emulator::ops {
namespace {

using Kind = Report::Kind;

/// The block whose window contains `address`, which `locate` has checked.
Block &block_at(Cluster &cluster, uint32_t address) {
  return cluster.blocks[cluster.shared.rank(address)];
}

/// Checks and records a use of an mbarrier by `view.actor`. The mbarrier's initialization must come
/// before. If an actor other than the block's threads uses it, the fence must also come before.
void check_made(Thread &thread, const Site &site, const char *what, Mbarrier &mbarrier,
                const View &view, bool needs_fence) {
  if (!thread.cluster->races)
    return;
  bool is_announced =
      mbarrier.announced != 0 && thread.warp->ops.cluster_phases >= mbarrier.announced;
  if (is_announced)
    ; // published by a barrier of the cluster, after the fence
  else if (!view.after(mbarrier.initializer, mbarrier.initialized))
    report_race(thread, site, *mbarrier.site, "initialized here",
                "%s uses the mbarrier at %s, but is not ordered after its initialization by "
                "%s\nnote: put a barrier after mbarrier_init",
                what, shared_place(thread, mbarrier.address).c_str(),
                actor_name(*thread.cluster, mbarrier.initializer).c_str());
  else if (needs_fence &&
           (mbarrier.fenced == 0 || !view.after(mbarrier.initializer, mbarrier.fenced)))
    report_race(
        thread, site, *mbarrier.site, "initialized here",
        "%s uses the mbarrier at %s, but no fence_mbarrier_init follows its mbarrier_init\nnote: "
        "%s must execute fence_mbarrier_init after mbarrier_init and before the barrier that "
        "precedes the use",
        what, shared_place(thread, mbarrier.address).c_str(),
        actor_name(*thread.cluster, mbarrier.initializer).c_str());
  if (mbarrier.uses.size() < thread.cluster->clocks.actors())
    mbarrier.uses.resize(thread.cluster->clocks.actors());
  mbarrier.uses[view.actor] = view.epoch;
}

/// The live mbarrier at `address`; records its use by `access`.
Mbarrier &find(const Access &access, uint32_t address) {
  Thread &thread = access.thread;
  Cluster &cluster = *thread.cluster;
  cluster.shared.locate(access, address, 8, 8);
  Block &block = block_at(cluster, address);
  bool remote = &block != thread.block;
  if (remote)
    use_from_outside(access, block);
  Mbarrier *mbarrier = block.ops.mbarriers.find(address);
  if (!mbarrier)
    fatal(thread, access.site, Kind::misuse,
          "%s: there is no mbarrier at %s\nnote: execute mbarrier_init before the first use, and "
          "mbarrier_inval only after the last use",
          access.what, shared_place(thread, address).c_str());
  check_made(thread, access.site, access.what, *mbarrier, access.view, remote);
  return *mbarrier;
}

Mbarrier &find(Thread &thread, const Site &site, const char *what, uint32_t address) {
  return find(access_by(thread, site, what), address);
}

void end_phase_if_complete(Thread &thread, Mbarrier &mbarrier) {
  if (mbarrier.missing != 0 || mbarrier.bytes != 0)
    return;
  thread.cluster->clocks.join(mbarrier.ended, mbarrier.arriving);
  mbarrier.arriving = Clock();
  mbarrier.missing = mbarrier.count;
  mbarrier.phase++;
  for (Thread *waiting : mbarrier.waiting)
    wake(*waiting);
  mbarrier.waiting.clear();
}

void check_arrival(Thread &thread, const Site &site, const char *what, const Mbarrier &mbarrier) {
  if (mbarrier.missing == 0)
    fatal(thread, site, Kind::misuse,
          "%s: too many arrivals at the mbarrier at %s: all %u arrivals of phase "
          "%" PRIu64 " are complete, but the phase still expects %d bytes",
          what, shared_place(thread, mbarrier.address).c_str(), mbarrier.count, mbarrier.phase,
          mbarrier.bytes);
}

void add_bytes(Thread &thread, const Site &site, const char *what, Mbarrier &mbarrier,
               int64_t bytes) {
  int64_t sum = mbarrier.bytes + bytes;
  if (sum > int64_t(mbarrier_limit) || sum < -int64_t(mbarrier_limit))
    fatal(thread, site, Kind::misuse,
          "%s: the mbarrier at %s counts at most %u bytes, but now %lld bytes are %s", what,
          shared_place(thread, mbarrier.address).c_str(), mbarrier_limit,
          static_cast<long long>(sum < 0 ? -sum : sum), sum < 0 ? "unexpected" : "expected");
  mbarrier.bytes = int32_t(sum);
}

void check_bytes(Thread &thread, const Site &site, const char *what, uint32_t bytes) {
  if (bytes > mbarrier_limit)
    fatal(thread, site, Kind::misuse, "%s expects %u bytes, but an mbarrier counts at most %u",
          what, bytes, mbarrier_limit);
}

void check_parity(Thread &thread, const Site &site, const char *what, uint32_t parity) {
  if (parity > 1)
    fatal(thread, site, Kind::misuse, "%s: the parity is %u, but must be 0 or 1", what, parity);
}

/// Whether the phase of this parity has ended: the current phase has the other parity.
bool has_ended(const Mbarrier &mbarrier, uint32_t parity) { return mbarrier.phase % 2 != parity; }

void arrive(Thread &thread, const Site &site, const char *what, uint32_t address, uint32_t bytes) {
  thread.cluster->scheduler.maybe_interrupt(thread);
  Mbarrier &mbarrier = find(thread, site, what, address);
  check_arrival(thread, site, what, mbarrier);
  add_bytes(thread, site, what, mbarrier, bytes);
  thread.cluster->clocks.release(thread.actor, mbarrier.arriving);
  mbarrier.missing--;
  end_phase_if_complete(thread, mbarrier);
}

/// Describes the missing arrivals and bytes for a deadlock report.
void describe(const Thread &thread, const Waiting &waiting, Text &text) {
  Block &block = *thread.block;
  const Mbarrier *mbarrier = block.ops.mbarriers.find(waiting.first);
  text.add("the mbarrier at %s for the phase of parity %u",
           shared_place(thread, waiting.first).c_str(), waiting.second);
  if (!mbarrier)
    return;
  text.add("; %" PRIu64 " phases are complete; the current phase has %u of %u arrivals",
           mbarrier->phase, mbarrier->count - mbarrier->missing, mbarrier->count);
  if (mbarrier->bytes > 0)
    text.add(" and expects %d more bytes", mbarrier->bytes);
  if (mbarrier->bytes < 0)
    text.add(" and %d bytes more than expected", -mbarrier->bytes);
}

} // namespace

void mbarrier_init(Thread &thread, const Site &site, uint32_t address, uint32_t count) {
  Cluster &cluster = *thread.cluster;
  Access access = access_by(thread, site, "mbarrier_init");
  cluster.shared.locate(access, address, 8, 8);
  Mbarriers &mbarriers = thread.block->ops.mbarriers;
  if (count == 0 || count > mbarrier_limit)
    fatal(thread, site, Kind::misuse,
          "mbarrier_init: an mbarrier expects 1 to %u arrivals per phase, not %u", mbarrier_limit,
          count);
  if (mbarriers.find(address))
    fatal(thread, site, Kind::misuse,
          "mbarrier_init: the mbarrier at %s is already initialized\nnote: execute mbarrier_inval "
          "first",
          shared_place(thread, address).c_str());
  cluster.shared.mark_write(access, address, 8);
  auto mbarrier = std::make_unique<Mbarrier>();
  mbarrier->address = address;
  mbarrier->count = mbarrier->missing = count;
  mbarrier->initializer = thread.actor;
  mbarrier->initialized = access.view.epoch;
  mbarrier->site = &site;
  mbarriers.live.push_back(std::move(mbarrier));
  cluster.shared.set_mbarrier(address, true);
}

void mbarrier_inval(Thread &thread, const Site &site, uint32_t address) {
  Cluster &cluster = *thread.cluster;
  Access access = access_by(thread, site, "mbarrier_inval");
  Mbarrier &mbarrier = find(access, address);
  if (!mbarrier.waiting.empty())
    fatal(thread, site, Kind::misuse, "mbarrier_inval: thread %u still waits at the mbarrier at %s",
          mbarrier.waiting[0]->id, shared_place(thread, address).c_str());
  for (Actor actor = 0; actor < mbarrier.uses.size(); actor++)
    if (mbarrier.uses[actor] != 0 && !access.view.after(actor, mbarrier.uses[actor])) {
      report(thread, site, Kind::race,
             "mbarrier_inval of the mbarrier at %s is not ordered after its use by %s",
             shared_place(thread, address).c_str(), actor_name(cluster, actor).c_str());
      break;
    }
  std::erase_if(thread.block->ops.mbarriers.live,
                [&](const auto &other) { return other.get() == &mbarrier; });
  cluster.shared.set_mbarrier(address, false);
  cluster.shared.mark_write(access, address, 8);
}

void mbarrier_arrive(Thread &thread, const Site &site, uint32_t address) {
  arrive(thread, site, "mbarrier_arrive", address, 0);
}

void arrive_now(Thread &thread, const Site &site, const char *what, uint32_t address) {
  arrive(thread, site, what, address, 0);
}

void mbarrier_arrive_expect_tx(Thread &thread, const Site &site, uint32_t address, uint32_t bytes) {
  check_bytes(thread, site, "mbarrier_arrive_expect_tx", bytes);
  arrive(thread, site, "mbarrier_arrive_expect_tx", address, bytes);
}

void mbarrier_expect_tx(Thread &thread, const Site &site, uint32_t address, uint32_t bytes) {
  check_bytes(thread, site, "mbarrier_expect_tx", bytes);
  Mbarrier &mbarrier = find(thread, site, "mbarrier_expect_tx", address);
  add_bytes(thread, site, "mbarrier_expect_tx", mbarrier, bytes);
  end_phase_if_complete(thread, mbarrier);
}

void mbarrier_arrive_cluster(Thread &thread, const Site &site, uint32_t address) {
  thread.cluster->scheduler.maybe_interrupt(thread);
  const char *what = "mbarrier_arrive_cluster";
  Access access = access_by(thread, site, what);
  access.reach = Reach::cluster;
  Mbarrier &mbarrier = find(access, address);
  check_arrival(thread, site, what, mbarrier);
  thread.cluster->clocks.release(thread.actor, mbarrier.arriving);
  mbarrier.missing--;
  end_phase_if_complete(thread, mbarrier);
}

void mbarrier_wait(Thread &thread, const Site &site, uint32_t address, uint32_t parity) {
  const char *what = "mbarrier_wait";
  check_parity(thread, site, what, parity);
  Cluster &cluster = *thread.cluster;
  cluster.scheduler.maybe_interrupt(thread);
  for (;;) {
    Mbarrier &mbarrier = find(thread, site, what, address);
    if (has_ended(mbarrier, parity)) {
      cluster.clocks.acquire(thread.actor, mbarrier.ended);
      return;
    }
    mbarrier.waiting.push_back(&thread);
    block_on(thread, {"an mbarrier", address, parity, &site, describe});
  }
}

uint32_t mbarrier_test(Thread &thread, const Site &site, uint32_t address, uint32_t parity) {
  const char *what = "mbarrier_test";
  check_parity(thread, site, what, parity);
  Cluster &cluster = *thread.cluster;
  Mbarrier &mbarrier = find(thread, site, what, address);
  if (has_ended(mbarrier, parity)) {
    cluster.clocks.acquire(thread.actor, mbarrier.ended);
    return 1;
  }
  // A polling thread is always ready, so land a pending operation here, or none would ever land.
  cluster.pending.land_first();
  yield(thread);
  return 0;
}

void check_mbarrier_for_copy(Thread &thread, const Site &site, const char *what, uint32_t address,
                             bool any_block, Proxy proxy) {
  Access access = access_by(thread, site, what);
  access.reach = any_block ? Reach::cluster : Reach::block;
  Mbarrier &mbarrier = find(access, address);
  check_made(thread, site, what, mbarrier, access.view, proxy == Proxy::async);
}

void complete_bytes(Thread &thread, const Site &site, const char *what, uint32_t address,
                    uint32_t bytes, const Clock &done) {
  Cluster &cluster = *thread.cluster;
  Mbarrier *mbarrier = block_at(cluster, address).ops.mbarriers.find(address);
  if (!mbarrier)
    fatal(thread, site, Kind::misuse,
          "%s: the mbarrier at %s was invalidated before the copy landed", what,
          shared_place(thread, address).c_str());
  add_bytes(thread, site, what, *mbarrier, -int64_t(bytes));
  cluster.clocks.join(mbarrier->arriving, done);
  end_phase_if_complete(thread, *mbarrier);
}

void arrive_later(Thread &thread, const Site &site, const char *what, uint32_t address,
                  const Clock &done) {
  Cluster &cluster = *thread.cluster;
  Mbarrier *mbarrier = block_at(cluster, address).ops.mbarriers.find(address);
  if (!mbarrier)
    fatal(thread, site, Kind::misuse,
          "%s: the mbarrier at %s was invalidated before the copies landed", what,
          shared_place(thread, address).c_str());
  check_arrival(thread, site, what, *mbarrier);
  cluster.clocks.join(mbarrier->arriving, done);
  mbarrier->missing--;
  end_phase_if_complete(thread, *mbarrier);
}

bool is_awaited(Thread &thread, uint32_t address) {
  Cluster &cluster = *thread.cluster;
  const Mbarrier *mbarrier = block_at(cluster, address).ops.mbarriers.find(address);
  return mbarrier && !mbarrier->waiting.empty();
}

void announce_mbarriers(Warp &warp, uint64_t phase) {
  for (const auto &mbarrier : warp.block->ops.mbarriers.live)
    if (mbarrier->fenced != 0 && mbarrier->announced == 0 &&
        unsigned(mbarrier->initializer - warp.threads->actor) < warp_size)
      mbarrier->announced = phase + 1;
}

void fence_mbarriers(Thread &thread) {
  if (!thread.cluster->races)
    return;
  Epoch now = thread.cluster->clocks.view(thread.actor).epoch;
  for (const auto &mbarrier : thread.block->ops.mbarriers.live)
    if (mbarrier->initializer == thread.actor && mbarrier->fenced == 0)
      mbarrier->fenced = now;
}

void check_mbarriers_at_end(Block &block) {
  for (const auto &mbarrier : block.ops.mbarriers.live)
    if (mbarrier->bytes != 0)
      report(block.threads[0], *mbarrier->site, Kind::misuse,
             "the block has ended, but the mbarrier at %s has received %d bytes %s (phase %" PRIu64
             ")\nnote: in each phase, mbarrier_arrive_expect_tx must announce exactly the bytes "
             "that the copies write",
             shared_place(block.threads[0], mbarrier->address).c_str(),
             mbarrier->bytes < 0 ? -mbarrier->bytes : mbarrier->bytes,
             mbarrier->bytes < 0 ? "more than expected" : "less than expected", mbarrier->phase);
}

} // namespace tritonc::emulator::ops
