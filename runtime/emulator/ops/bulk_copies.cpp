// Implements bulk copies of bytes and bulk groups. See bulk_copies.h.
//
// Tested by tests/unit/emulator/bulk_copies_test.cpp.

#include "bulk_copies.h"

#include "../machine.h"
#include "bulk_async.h"

#include <cstring>

namespace tritonc::emulator::ops {
namespace {

/// Max separate groups per thread; older groups are merged.
constexpr size_t max_groups = 64;

class Bytes final : public Source, public Destination {
public:
  Bytes(const void *global, uint32_t bytes) : global_(global), bytes_(bytes) {}
  void read(const Access &access, std::byte *to) override {
    GlobalAccess &memory = access.thread.cluster->global;
    std::memcpy(to, memory.read(access, global_, bytes_, 16), bytes_);
  }
  void write(const Access &access, const std::byte *from) override {
    GlobalAccess &memory = access.thread.cluster->global;
    std::memcpy(memory.write(access, const_cast<void *>(global_), bytes_, 16), from, bytes_);
  }

private:
  const void *global_;
  uint32_t bytes_;
};

/// What a copy that was left out leaves: bytes that the program must not use.
class Undefined final : public Source {
public:
  explicit Undefined(uint32_t bytes) : bytes_(bytes) {}
  void read(const Access &, std::byte *to) override { std::memset(to, 0xff, bytes_); }

private:
  uint32_t bytes_;
};

void check_size(const Issue &issue) {
  if (issue.bytes == 0 || issue.bytes % 16 != 0)
    fatal(issue.thread, issue.site, Report::Kind::misuse,
          "%s of %u bytes: the size must be a positive multiple of 16", issue.what, issue.bytes);
}

/// Whether all groups before number `end` have read and, if `writing`, written.
bool are_done(BulkGroups &bulk, uint64_t end, bool writing) {
  for (uint64_t i = bulk.merged; i < end; i++)
    if (bulk.group(i).reading != 0 || (writing && bulk.group(i).writing != 0))
      return false;
  return true;
}

void wait(Thread &thread, const Site &site, uint32_t pending, bool writing) {
  Cluster &cluster = *thread.cluster;
  cluster.scheduler.maybe_interrupt(thread);
  BulkGroups &bulk = thread.ops.bulk;
  if (bulk.groups.empty() || bulk.groups.size() - 1 <= pending)
    return;
  uint64_t end = bulk.open() - pending;
  if (!are_done(bulk, end, writing)) {
    bulk.awaited = end;
    bulk.awaits_writing = writing;
    block_on(thread, {writing ? "bulk_wait for all but the last %u bulk groups"
                              : "bulk_wait_read for all but the last %u bulk groups",
                      pending, 0, &site, nullptr});
  }
  for (uint64_t i = bulk.merged; i < end; i++) {
    BulkGroups::Group &group = bulk.group(i);
    cluster.clocks.acquire(thread.actor, group.read);
    group.read = Clock(); // acquired now
    if (writing) {
      cluster.clocks.acquire(thread.actor, group.written);
      group.written = Clock();
    }
  }
}

} // namespace

void bulk_load(Thread &thread, const Site &site, uint32_t to, const void *from, uint32_t bytes,
               uint32_t mbarrier) {
  Issue issue = {thread, site, "bulk_load", to, bytes, 16};
  Cluster &cluster = *thread.cluster;
  cluster.scheduler.maybe_interrupt(thread);
  check_size(issue);
  check_copy_in(issue, mbarrier);
  cluster.global.locate(access_by(thread, site, issue.what), from, bytes, 16);
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(std::make_unique<Bytes>(from, bytes));
  start_copy_in(issue, mbarrier, 0, std::move(sources));
}

void mbarrier_complete_tx(Thread &thread, const Site &site, uint32_t mbarrier, uint32_t bytes,
                          uint32_t to) {
  Issue issue = {thread, site, "mbarrier_complete_tx", to, bytes, 16};
  thread.cluster->scheduler.maybe_interrupt(thread);
  check_size(issue);
  check_copy_in(issue, mbarrier);
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(std::make_unique<Undefined>(bytes));
  start_copy_in(issue, mbarrier, 0, std::move(sources));
}

void bulk_store(Thread &thread, const Site &site, void *to, uint32_t from, uint32_t bytes) {
  Issue issue = {thread, site, "bulk_store", from, bytes, 16};
  Cluster &cluster = *thread.cluster;
  cluster.scheduler.maybe_interrupt(thread);
  check_size(issue);
  check_copy_out(issue);
  cluster.global.locate(access_by(thread, site, issue.what), to, bytes, 16);
  start_copy_out(issue, std::make_unique<Bytes>(to, bytes));
}

void bulk_commit(Thread &thread, const Site &) {
  BulkGroups &bulk = thread.ops.bulk;
  if (bulk.groups.empty())
    bulk.groups.emplace_back();
  bulk.groups.emplace_back();
  if (bulk.groups.size() <= max_groups)
    return;
  Clocks &clocks = thread.cluster->clocks;
  BulkGroups::Group &oldest = bulk.groups[0], &next = bulk.groups[1];
  next.reading += oldest.reading;
  next.writing += oldest.writing;
  clocks.join(next.read, oldest.read);
  clocks.join(next.written, oldest.written);
  bulk.groups.erase(bulk.groups.begin());
  bulk.merged++;
}

void bulk_wait(Thread &thread, const Site &site, uint32_t pending) {
  wait(thread, site, pending, true);
}

void bulk_wait_read(Thread &thread, const Site &site, uint32_t pending) {
  wait(thread, site, pending, false);
}

} // namespace tritonc::emulator::ops
