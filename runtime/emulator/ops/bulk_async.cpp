// Issues and lands the copies by TMA units. See bulk_async.h.
//
// Tested by tests/unit/emulator/bulk_copies_test.cpp and tensor_copies_test.cpp.

#include "bulk_async.h"

#include "../machine.h"
#include "lifetimes.h"
#include "mbarriers.h"

namespace tritonc::emulator::ops {
namespace {

using Kind = Report::Kind;

/// Reports an event that accesses the shared memory of a block that has ended.
void check_alive(const Issue &issue, const Block &block) {
  if (block.live == 0)
    fatal(issue.thread, issue.site, Kind::race,
          "%s accesses the shared memory of block %u of the cluster after all threads of the block "
          "have exited\nnote: make a thread of the block wait for the access before it exits",
          issue.what, block.rank);
}

/// An event of a TMA unit, issued by a thread.
class AsyncEvent : public Pending {
protected:
  AsyncEvent(const Issue &issue, const Clock &issued) : issue(issue) {
    Clocks &clocks = issue.thread.cluster->clocks;
    engine_ = clocks.next_async_agent();
    clocks.issue(engine_, issued, clock);
  }
  Access access() const {
    Access access = {issue.thread, issue.site, issue.what,
                     issue.thread.cluster->clocks.view(engine_, clock)};
    access.proxy = Proxy::async;
    access.reach = Reach::cluster;
    return access;
  }

  const Issue issue;
  Clock clock; // to acquire after the event

private:
  Actor engine_;
};

class CopyIn final : public AsyncEvent {
public:
  CopyIn(const Issue &issue, uint32_t mbarrier, std::unique_ptr<Source> source, const Clock &issued)
      : AsyncEvent(issue, issued), mbarrier_(mbarrier), source_(std::move(source)) {
    use_from_outside(access(), block());
  }
  void land() override {
    check_alive(issue, block());
    Access access = this->access();
    std::byte *to = issue.thread.cluster->shared.write(access, issue.address, issue.bytes, 1);
    source_->read(access, to);
    complete_bytes(issue.thread, issue.site, issue.what, mbarrier_, issue.bytes, clock);
  }
  bool wanted() const override { return is_awaited(issue.thread, mbarrier_); }

private:
  Block &block() const {
    Cluster &cluster = *issue.thread.cluster;
    return cluster.blocks[cluster.shared.rank(issue.address)];
  }
  uint32_t mbarrier_;
  std::unique_ptr<Source> source_;
};

/// The state that the two events of a copy from shared memory share.
struct Outgoing {
  std::unique_ptr<Destination> destination;
  uint64_t group; // bulk group of the thread
  bool has_read = false;
  std::vector<std::byte> data;
};

/// Wakes the thread if the events that it waits for have happened.
void event_happened(Thread &thread) {
  BulkGroups &bulk = thread.ops.bulk;
  if (bulk.awaited == 0)
    return;
  for (uint64_t i = bulk.merged; i < bulk.awaited; i++) {
    const BulkGroups::Group &group = bulk.group(i);
    if (group.reading != 0 || (bulk.awaits_writing && group.writing != 0))
      return;
  }
  bulk.awaited = 0;
  wake(thread);
}

class Reading final : public AsyncEvent {
public:
  Reading(const Issue &issue, std::shared_ptr<Outgoing> copy, const Clock &issued)
      : AsyncEvent(issue, issued), copy_(std::move(copy)) {
    use_from_outside(access(), *issue.thread.block);
  }
  void land() override {
    Thread &thread = issue.thread;
    check_alive(issue, *thread.block);
    const std::byte *from = thread.cluster->shared.read(access(), issue.address, issue.bytes, 1);
    copy_->data.assign(from, from + issue.bytes);
    copy_->has_read = true;
    BulkGroups::Group &group = thread.ops.bulk.group(copy_->group);
    group.reading--;
    thread.cluster->clocks.join(group.read, clock);
    event_happened(thread);
  }
  bool wanted() const override { return issue.thread.ops.bulk.awaited > copy_->group; }
  const Clock &done() const { return clock; }

private:
  std::shared_ptr<Outgoing> copy_;
};

class Writing final : public AsyncEvent {
public:
  Writing(const Issue &issue, std::shared_ptr<Outgoing> copy, const Clock &read)
      : AsyncEvent(issue, read), copy_(std::move(copy)) {}
  bool may_land() const override { return copy_->has_read; }
  void land() override {
    Thread &thread = issue.thread;
    copy_->destination->write(access(), copy_->data.data());
    BulkGroups::Group &group = thread.ops.bulk.group(copy_->group);
    group.writing--;
    thread.cluster->clocks.join(group.written, clock);
    event_happened(thread);
  }
  bool wanted() const override {
    const BulkGroups &bulk = issue.thread.ops.bulk;
    return bulk.awaits_writing && bulk.awaited > copy_->group;
  }

private:
  std::shared_ptr<Outgoing> copy_;
};

/// With Async::early, lands the last `count` queued events now. No object on the stack may own
/// memory: an event may end the launch.
void land_if_early(Cluster &cluster, size_t count) {
  if (cluster.async == Async::early)
    for (; count > 0; count--)
      cluster.pending.land_first();
}

/// Maps `address` of the thread's block to block `rank`.
uint32_t address_in(const Thread &thread, uint32_t address, unsigned rank) {
  return address - thread.shared_base + thread.cluster->shared.base(rank);
}

/// The mask of the destination blocks of a copy.
uint32_t blocks_of(const Thread &thread, uint32_t blocks) {
  return blocks ? blocks : 1u << thread.block->rank;
}

} // namespace

void check_copy_in(const Issue &issue, uint32_t mbarrier, uint32_t blocks) {
  Thread &thread = issue.thread;
  Cluster &cluster = *thread.cluster;
  cluster.shared.locate(access_by(thread, issue.site, issue.what), issue.address, issue.bytes,
                        issue.alignment);
  if (blocks >> cluster.blocks.size())
    fatal(thread, issue.site, Kind::misuse,
          "%s to the blocks of mask 0x%x, but the cluster size is %zu", issue.what, blocks,
          cluster.blocks.size());
  check_mbarrier_for_copy(thread, issue.site, issue.what, mbarrier, false, Proxy::async);
  for (const Block &block : cluster.blocks) {
    if (&block == thread.block || !(blocks >> block.rank & 1))
      continue;
    check_alive(issue, block);
    check_mbarrier_for_copy(thread, issue.site, issue.what,
                            address_in(thread, mbarrier, block.rank), true, Proxy::async);
  }
}

void start_copy_in(const Issue &issue, uint32_t mbarrier, uint32_t blocks,
                   std::vector<std::unique_ptr<Source>> sources) {
  Thread &thread = issue.thread;
  Cluster &cluster = *thread.cluster;
  Clock issued;
  cluster.clocks.release(thread.actor, issued);
  blocks = blocks_of(thread, blocks);
  size_t next = 0;
  for (const Block &block : cluster.blocks) {
    if (!(blocks >> block.rank & 1))
      continue;
    Issue there = issue;
    there.address = address_in(thread, issue.address, block.rank);
    auto copy = std::make_unique<CopyIn>(there, address_in(thread, mbarrier, block.rank),
                                         std::move(sources[next++]), issued);
    if (cluster.async != Async::early)
      cluster.shared.poison(there.address, there.bytes);
    cluster.pending.add(std::move(copy));
  }
  issued = Clock();
  std::vector<std::unique_ptr<Source>>().swap(sources);
  land_if_early(cluster, next);
}

void check_copy_out(const Issue &issue) {
  issue.thread.cluster->shared.locate(access_by(issue.thread, issue.site, issue.what),
                                      issue.address, issue.bytes, issue.alignment);
}

void start_copy_out(const Issue &issue, std::unique_ptr<Destination> destination) {
  Thread &thread = issue.thread;
  Cluster &cluster = *thread.cluster;
  BulkGroups &bulk = thread.ops.bulk;
  if (bulk.groups.empty())
    bulk.groups.emplace_back();
  Clock issued;
  cluster.clocks.release(thread.actor, issued);
  auto copy = std::make_shared<Outgoing>();
  copy->destination = std::move(destination);
  copy->group = bulk.open();
  bulk.groups.back().reading++;
  bulk.groups.back().writing++;
  auto reading = std::make_unique<Reading>(issue, copy, issued);
  auto writing = std::make_unique<Writing>(issue, std::move(copy), reading->done());
  cluster.pending.add(std::move(reading));
  cluster.pending.add(std::move(writing));
  issued = Clock();
  land_if_early(cluster, 2);
}

} // namespace tritonc::emulator::ops
