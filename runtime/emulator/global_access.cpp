// Checks and marks a cluster's accesses to global memory. See global_access.h.
//
// Tested by tests/unit/emulator/global_memory_test.cpp and races_test.cpp.

#include "global_access.h"

#include "byte_states.h"
#include "global_cells.h"
#include "launch_state.h"
#include "machine.h"

#include <algorithm>
#include <cstring>

namespace tritonc::emulator {
namespace {

/// Locks a 16-byte cell and its parts. Other OS threads run other clusters, or other launches with
/// the same memory.
class Lock {
public:
  explicit Lock(std::atomic<bool> &is_locked) : is_locked_(is_locked) {
    while (is_locked_.exchange(true, std::memory_order_acquire))
      __builtin_ia32_pause();
  }
  ~Lock() { is_locked_.store(false, std::memory_order_release); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

private:
  std::atomic<bool> &is_locked_;
};

constexpr unsigned bit(AccessKind kind) { return 1u << unsigned(kind); }

void empty(GlobalCell &cell, uint32_t launch) {
  cell.launch = launch;
  cell.is_split = 0;
  cell.own_kinds = cell.foreign_kinds = 0;
  cell.cell = {};
}

} // namespace

void GlobalAccess::start(GlobalMemory &memory, const Clocks &clocks, uint32_t launch,
                         uint32_t cluster, bool uninitialized) {
  memory_ = &memory;
  clocks_ = &clocks;
  launch_ = launch;
  cluster_ = cluster;
  uninitialized_ = uninitialized;
  taken_.clear();
  sets_.clear(); // only cells of the current cluster refer to lists
}

// ---- checks ----

void GlobalAccess::check_waited(const Access &access, const void *address, size_t bytes) {
  if (access.thread.ops.may_be_early)
    fatal(access.thread, access.site, Report::Kind::misuse,
          "%s of %s at %s before dependency_wait: the previous launch may still be running",
          access.what, bytes_text(bytes).c_str(), global_place(access.thread, address).c_str());
}

void GlobalAccess::locate(const Access &access, const void *address, size_t bytes,
                          uint32_t alignment) {
  check_waited(access, address, bytes);
  bool is_fine = memory_->contains(address) &&
                 (all_have(memory_->state(address), bytes, GlobalMemory::allocated) ||
                  memory_->prepare(address, bytes));
  if (!is_fine) {
    // Find the first byte that is out of bounds.
    auto *at = static_cast<const std::byte *>(address);
    while (memory_->is_live(at, 1))
      at++;
    fatal(access.thread, access.site, Report::Kind::out_of_bounds, "%s of %s at %s", access.what,
          bytes_text(bytes).c_str(), global_place(access.thread, at).c_str());
  }
  if (reinterpret_cast<uintptr_t>(address) & (alignment - 1))
    fatal(access.thread, access.site, Report::Kind::misaligned,
          "%s of %s at %s: the address %p is not a multiple of %u", access.what,
          bytes_text(bytes).c_str(), global_place(access.thread, address).c_str(), address,
          alignment);
}

void GlobalAccess::check_written(const Access &access, const void *address, size_t bytes) {
  const uint8_t *states = memory_->state(address);
  if (!uninitialized_ || all_have(states, bytes, GlobalMemory::written))
    return;
  if (is_reported(access.thread, access.site, access.site, Report::Kind::uninitialized))
    return;
  auto *at = static_cast<const std::byte *>(address) + first_without(states, GlobalMemory::written);
  report(access.thread, access.site, Report::Kind::uninitialized,
         "%s of %s at %s: the memory is uninitialized", access.what, bytes_text(bytes).c_str(),
         global_place(access.thread, at).c_str());
}

const std::byte *GlobalAccess::read(const Access &access, const void *address, size_t bytes,
                                    uint32_t alignment) {
  locate(access, address, bytes, alignment);
  mark_read(access, address, bytes);
  return static_cast<const std::byte *>(address);
}

std::byte *GlobalAccess::write(const Access &access, void *address, size_t bytes,
                               uint32_t alignment) {
  locate(access, address, bytes, alignment);
  mark_write(access, address, bytes);
  return static_cast<std::byte *>(address);
}

std::byte *GlobalAccess::atomic(const Access &access, void *address, size_t bytes,
                                uint32_t alignment) {
  locate(access, address, bytes, alignment);
  check_written(access, address, bytes);
  if (access.view.seen)
    mark(access, address, bytes, AccessKind::atomic);
  return static_cast<std::byte *>(address);
}

void GlobalAccess::mark_read(const Access &access, const void *address, size_t bytes) {
  check_written(access, address, bytes);
  if (access.view.seen)
    mark(access, address, bytes, AccessKind::read);
}

void GlobalAccess::mark_write(const Access &access, void *address, size_t bytes) {
  std::memset(memory_->state(address), GlobalMemory::allocated | GlobalMemory::written, bytes);
  if (access.view.seen)
    mark(access, address, bytes, AccessKind::write);
}

// ---- signals ----

bool GlobalAccess::take_signal(LaunchState &launch, Actor thread, const void *address) {
  LaunchState::Signal signal;
  if (!launch.take_signal(address, signal))
    return false;
  if (clocks_->enabled())
    taken_.push_back(
        {signal.cluster, std::move(signal.epochs), thread, clocks_->view(thread).epoch});
  return true;
}

// Whether the write of another cluster came before a signal that came before `view`.
bool GlobalAccess::is_signaled(const View &view, uint32_t cluster, const PastAccess &write) const {
  return std::any_of(taken_.begin(), taken_.end(), [&](const Taken &signal) {
    return signal.cluster == cluster && write.epoch <= signal.epochs[write.actor] &&
           view.after(signal.by, signal.at);
  });
}

// ---- races ----

// Bytes per cell of a level: 16 bytes, words, bytes. Level and offset of the first byte name a
// cell.
constexpr size_t bytes_of(int level) { return size_t(16) >> (2 * level); }

struct GlobalAccess::Mark {
  const Access &access;
  AccessKind kind;
  unsigned site;
  size_t begin, end; // offsets
};

void GlobalAccess::mark(const Access &access, const void *address, size_t bytes, AccessKind kind) {
  size_t begin = size_t(static_cast<const std::byte *>(address) - memory_->base_);
  Mark mark = {access, kind, site_index(*access.thread.cluster, access.site), begin, begin + bytes};
  for (size_t offset = begin & ~size_t(15); offset < mark.end; offset += 16) {
    Lock lock(memory_->cells_[0][offset / 16].is_locked);
    mark_cell(mark, 0, offset);
  }
}

// Marks the part of an access that is in a cell.
void GlobalAccess::mark_cell(const Mark &mark, int level, size_t offset) {
  GlobalCell &cell = memory_->cells_[level][offset / bytes_of(level)];
  if (cell.launch != launch_)
    empty(cell, launch_);
  bool is_whole = mark.begin <= offset && offset + bytes_of(level) <= mark.end;
  if (!is_whole || cell.is_split)
    mark_parts(mark, level, offset);
  else
    mark_whole(mark, cell, offset);
}

void GlobalAccess::mark_parts(const Mark &mark, int level, size_t offset) {
  GlobalCell &cell = memory_->cells_[level][offset / bytes_of(level)];
  size_t part_bytes = bytes_of(level + 1);
  if (!cell.is_split)
    split(level, offset);
  for (size_t part = offset; part < offset + bytes_of(level); part += part_bytes)
    if (part < mark.end && mark.begin < part + part_bytes)
      mark_cell(mark, level + 1, part);
  if (mark.kind == AccessKind::write && mark.begin <= offset &&
      offset + bytes_of(level) <= mark.end) {
    // All parts are equal again: merge them.
    const GlobalCell &part = memory_->cells_[level + 1][offset / part_bytes];
    empty(cell, launch_);
    cell.writer_cluster = cluster_;
    cell.cell.writer = part.cell.writer;
  }
}

void GlobalAccess::split(int level, size_t offset) {
  GlobalCell &cell = memory_->cells_[level][offset / bytes_of(level)];
  GlobalCell *parts = memory_->cells_[level + 1] + offset / bytes_of(level + 1);
  bool is_own = cell.others_cluster == cluster_; // if not, the list is not ours and stays unused
  for (size_t i = 0; i < 4; i++) {
    GlobalCell &part = parts[i];
    empty(part, launch_);
    part.own_kinds = cell.own_kinds;
    part.foreign_kinds = cell.foreign_kinds;
    part.foreign_site = cell.foreign_site;
    part.writer_cluster = cell.writer_cluster;
    part.others_cluster = cell.others_cluster;
    part.cell = is_own ? sets_.copy(cell.cell) : cell.cell;
  }
  if (is_own)
    sets_.forget(cell.cell);
  cell.is_split = 1;
}

void GlobalAccess::mark_whole(const Mark &mark, GlobalCell &cell, size_t offset) {
  unsigned conflicting = mark.kind == AccessKind::read     ? bit(AccessKind::atomic)
                         : mark.kind == AccessKind::atomic ? bit(AccessKind::read)
                                                           : ~0u;
  // First the accesses by other clusters: nothing orders them.
  if (cell.others_cluster != cluster_ && cell.cell.others.epoch) {
    cell.foreign_kinds |= cell.own_kinds;
    if (!cell.cell.has_list()) // with a list, foreign_site is already set
      cell.foreign_site = uint16_t(cell.cell.others.site());
    cell.own_kinds = 0;
    cell.cell.others = {};
  }
  PastAccess foreign_writer;
  if (cell.cell.writer.epoch && cell.writer_cluster != cluster_) {
    foreign_writer = cell.cell.writer;
    if (!is_signaled(mark.access.view, cell.writer_cluster, foreign_writer))
      conflict(mark, offset, {foreign_writer, AccessKind::write}, true);
    cell.cell.writer = {};
  } else if (unsigned kinds = cell.foreign_kinds & conflicting) {
    PastAccess past = {1, 0, uint16_t(cell.foreign_site << 1)};
    AccessKind kind = kinds & bit(AccessKind::read) ? AccessKind::read : AccessKind::atomic;
    conflict(mark, offset, {past, kind}, true);
  }

  if (Conflict with = sets_.access(cell.cell, mark.access.view, mark.kind, mark.site))
    conflict(mark, offset, with, false);
  if (mark.kind == AccessKind::write) {
    cell.own_kinds = cell.foreign_kinds = 0;
    cell.writer_cluster = cluster_;
    return;
  }
  cell.own_kinds |= bit(mark.kind);
  cell.others_cluster = cluster_;
  if (cell.cell.has_list() && !cell.foreign_kinds) // other clusters cannot read the list
    cell.foreign_site = uint16_t(mark.site);
  if (foreign_writer.epoch)
    cell.cell.writer = foreign_writer;
}

void GlobalAccess::conflict(const Mark &mark, size_t offset, const Conflict &with,
                            bool other_cluster) {
  const Access &access = mark.access;
  const Cluster &cluster = *access.thread.cluster;
  const Site &other = site_at(cluster, with.with.site());
  if (is_reported(access.thread, access.site, other, Report::Kind::race))
    return;
  Text how;
  if (other_cluster)
    how.add("%s by another program", noun(with.kind));
  else
    how.add("%s by %s", noun(with.kind), actor_name(cluster, with.with.actor).c_str());
  const std::byte *address = memory_->base_ + std::max(offset, mark.begin);
  report_race(access.thread, access.site, other, how.c_str(),
              other_cluster ? "race: %s at %s by %s is not ordered after an earlier %s by another "
                              "program of the launch"
                            : "race: %s at %s by %s is not ordered after an earlier %s",
              access.what, global_place(access.thread, address).c_str(),
              actor_name(cluster, access.view.actor).c_str(), noun(with.kind));
}

} // namespace tritonc::emulator
