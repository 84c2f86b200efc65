// Implements cp.async. See copies.h.
//
// Tested by tests/unit/emulator/copies_test.cpp.

#include "copies.h"

#include "../machine.h"
#include "lifetimes.h"
#include "mbarriers.h"

#include <cstring>
#include <memory>

namespace tritonc::emulator::ops {
namespace {

constexpr const char *name_of(unsigned width) {
  return width == 4 ? "cp_async_4" : width == 8 ? "cp_async_8" : "cp_async_16";
}

void copy(const Access &access, const CopyQueue::Copy &copy) {
  Cluster &cluster = *access.thread.cluster;
  std::byte *to = cluster.shared.write(access, copy.to, copy.width, copy.width);
  if (copy.bytes > 0)
    std::memcpy(to, cluster.global.read(access, copy.from, copy.bytes, 1), copy.bytes);
  std::memset(to + copy.bytes, 0, copy.width - copy.bytes);
}

// Reports writes to the destination of a pending copy: it may land before or after them.
void check_place(const Access &access, const CopyQueue::Copy &copy) {
  if (!access.view.seen || access.thread.cluster->shared.is_poisoned(copy.to, copy.width))
    return;
  report(access.thread, access.site, Report::Kind::race,
         "%s of %s to %s: another write to this memory came before cp_async_wait\nnote: execute "
         "cp_async_wait and then a barrier before you use this memory again",
         access.what, bytes_text(copy.width).c_str(), shared_place(access.thread, copy.to).c_str());
}

/// Lands the oldest deferred copies until `count` have landed in total, as accesses of `view`.
void land_until(Thread &thread, uint64_t count, const View &view) {
  CopyQueue &queue = thread.ops.copies;
  for (; queue.landed < count; queue.landed++) {
    const CopyQueue::Copy &next = queue.copies[queue.landed - queue.forgotten];
    Access access = {thread, *next.site, name_of(next.width), view};
    check_place(access, next);
    copy(access, next);
  }
  if (queue.landed == queue.put_off()) {
    queue.forgotten = queue.landed;
    queue.copies.clear();
  }
}

/// Lands the copies of a thread issued so far, then arrives at an mbarrier.
class Arrival final : public Pending {
public:
  Arrival(Thread &thread, const Site &site, uint32_t address, Actor engine, Clock clock)
      : thread_(thread), site_(site), address_(address), count_(thread.ops.copies.put_off()),
        engine_(engine), clock_(std::move(clock)) {}

  void land() override {
    land_until(thread_, count_, thread_.cluster->clocks.view(engine_, clock_));
    arrive_later(thread_, site_, "cp_async_mbarrier_arrive", address_, clock_);
  }
  bool wanted() const override { return is_awaited(thread_, address_); }

private:
  Thread &thread_;
  const Site &site_;
  uint32_t address_;
  uint64_t count_; // copies that must land
  Actor engine_;
  Clock clock_;
};

} // namespace

template <unsigned width>
void cp_async(Thread &thread, const Site &site, uint32_t to, const void *from, uint32_t bytes) {
  Cluster &cluster = *thread.cluster;
  cluster.scheduler.maybe_interrupt(thread);
  Access access = access_by(thread, site, name_of(width));
  cluster.shared.locate(access, to, width, width);
  if (bytes > width)
    fatal(thread, site, Report::Kind::misuse, "%s copies %u bytes, but supports at most %u",
          access.what, bytes, width);
  if (bytes > 0)
    cluster.global.locate(access, from, bytes, width);
  CopyQueue::Copy now = {to, width, bytes, from, &site};
  if (cluster.async == Async::early ||
      (cluster.async == Async::random && cluster.scheduler.random().below(2) == 0)) {
    copy(access, now);
    return;
  }
  cluster.shared.mark_write(access, to, width);
  cluster.shared.poison(to, width);
  thread.ops.copies.copies.push_back(now);
}

template void cp_async<4>(Thread &, const Site &, uint32_t, const void *, uint32_t);
template void cp_async<8>(Thread &, const Site &, uint32_t, const void *, uint32_t);
template void cp_async<16>(Thread &, const Site &, uint32_t, const void *, uint32_t);

void cp_async_commit(Thread &thread, const Site &) {
  CopyQueue &queue = thread.ops.copies;
  queue.commits.push_back(queue.put_off());
}

void cp_async_wait(Thread &thread, const Site &, uint32_t pending) {
  Cluster &cluster = *thread.cluster;
  CopyQueue &queue = thread.ops.copies;
  if (queue.commits.size() > pending) {
    size_t done = queue.commits.size() - pending;
    uint64_t count = queue.commits[done - 1];
    queue.commits.erase(queue.commits.begin(), queue.commits.begin() + long(done));
    land_until(thread, count, cluster.clocks.view(thread.actor));
  }
  cluster.scheduler.maybe_interrupt(thread);
}

void cp_async_mbarrier_arrive(Thread &thread, const Site &site, uint32_t address) {
  const char *what = "cp_async_mbarrier_arrive";
  Cluster &cluster = *thread.cluster;
  CopyQueue &queue = thread.ops.copies;
  check_mbarrier_for_copy(thread, site, what, address, false, Proxy::generic);
  if (queue.landed == queue.put_off()) {
    arrive_now(thread, site, what, address);
    return;
  }
  Actor engine = cluster.clocks.next_async_agent();
  Clock issued, clock;
  cluster.clocks.release(thread.actor, issued);
  cluster.clocks.issue(engine, issued, clock);
  use_from_outside({thread, site, what, cluster.clocks.view(engine, clock)}, *thread.block);
  cluster.pending.add(std::make_unique<Arrival>(thread, site, address, engine, std::move(clock)));
}

void check_copies_at_end(Block &block) {
  if (!block.cluster->races)
    return;
  for (unsigned i = 0; i < block.cluster->threads_per_block(); i++) {
    Thread &thread = block.threads[i];
    const CopyQueue &queue = thread.ops.copies;
    if (queue.landed == queue.put_off())
      continue;
    const CopyQueue::Copy &next = queue.copies[queue.landed - queue.forgotten];
    report(thread, *next.site, Report::Kind::race,
           "%s of %s to %s may land after the block has ended: its thread does not wait for it\n"
           "note: execute cp_async_wait before the thread exits or, if an mbarrier tracks the "
           "copy, mbarrier_wait before the last thread exits",
           name_of(next.width), bytes_text(next.width).c_str(),
           shared_place(thread, next.to).c_str());
    return; // one report per block
  }
}

} // namespace tritonc::emulator::ops
