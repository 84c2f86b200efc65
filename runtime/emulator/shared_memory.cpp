// Checks and marks accesses to the shared memory of a cluster. See shared_memory.h.
//
// Tested by tests/unit/emulator/reports_of_errors_test.cpp and races_test.cpp.

#include "shared_memory.h"

#include "byte_states.h"
#include "machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tritonc::emulator {
namespace {

constexpr unsigned max_blocks = 16;
constexpr uint32_t cell_bytes = 16;
constexpr size_t all_windows = size_t(max_blocks) * window_bytes;

// States of a byte. A byte of a live mbarrier also counts as written. A byte that a pending copy
// will write (is_coming) does not.
constexpr uint8_t is_written = 1, is_mbarrier = 2, is_coming = 4;

// Maps the windows below 4 GiB, at a multiple of the window size. Several OS threads may call it.
void *map_low() {
  constexpr uintptr_t first = 0x20000000, end = 0xf0000000;
  for (uintptr_t address = first; address < end; address += all_windows) {
    void *memory = mmap(reinterpret_cast<void *>(address), all_windows, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == reinterpret_cast<void *>(address))
      return memory;
    if (memory != MAP_FAILED)
      munmap(memory, all_windows); // an old kernel ignores MAP_FIXED_NOREPLACE
  }
  std::fprintf(stderr, "emulator: cannot reserve addresses below 4 GiB for shared memory\n");
  std::abort();
}

void *map(size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "emulator: out of memory\n");
    std::abort();
  }
  return memory;
}

} // namespace

SharedMemory::SharedMemory()
    : base_(uint32_t(reinterpret_cast<uintptr_t>(map_low()))),
      states_(static_cast<uint8_t *>(map(all_windows))),
      cells_(static_cast<RaceCell *>(map(all_windows / cell_bytes * sizeof(RaceCell)))) {}

SharedMemory::~SharedMemory() {
  munmap(reinterpret_cast<void *>(uintptr_t(base_)), all_windows);
  munmap(states_, all_windows);
  munmap(cells_, all_windows / cell_bytes * sizeof(RaceCell));
}

void SharedMemory::reset() {
  for (uint32_t block = 0; block < marked_blocks_; block++)
    std::memset(static_cast<void *>(cells_ + size_t(block) * window_bytes / cell_bytes), 0,
                (marked_bytes_ + cell_bytes - 1) / cell_bytes * sizeof(RaceCell));
  marked_blocks_ = marked_bytes_ = 0;
  sets_.clear();
}

void SharedMemory::start(const Clocks &clocks, unsigned blocks, uint32_t bytes,
                         bool uninitialized) {
  clocks_ = &clocks;
  blocks_ = blocks;
  bytes_ = bytes;
  uninitialized_ = uninitialized;
  live_mbarriers_ = 0;
  if (clocks.enabled()) {
    marked_blocks_ = std::max(marked_blocks_, blocks);
    marked_bytes_ = std::max(marked_bytes_, bytes);
  }
  for (unsigned rank = 0; rank < blocks; rank++) {
    std::memset(reinterpret_cast<void *>(uintptr_t(base(rank))), 0xff, bytes);
    std::memset(state(base(rank)), 0, bytes);
  }
}

// ---- checks ----

std::byte *SharedMemory::locate(const Access &access, uint32_t address, uint32_t bytes,
                                uint32_t alignment) {
  uint32_t window = access.thread.shared_base;
  if (access.reach == Reach::cluster && contains(address))
    window = base(rank(address));
  uint32_t offset = address - window;
  if (offset > bytes_ || bytes > bytes_ - offset)
    fatal(access.thread, access.site, Report::Kind::out_of_bounds, "%s of %s at %s, which has %s",
          access.what, bytes_text(bytes).c_str(), shared_place(access.thread, address).c_str(),
          bytes_text(bytes_).c_str());
  if (address & (alignment - 1))
    fatal(access.thread, access.site, Report::Kind::misaligned,
          "%s of %s at %s, which is not a multiple of %u", access.what, bytes_text(bytes).c_str(),
          shared_place(access.thread, address).c_str(), alignment);
  return reinterpret_cast<std::byte *>(uintptr_t(address));
}

void SharedMemory::check_written(const Access &access, uint32_t address, uint32_t bytes) {
  if (!uninitialized_ || all_have(state(address), bytes, is_written))
    return;
  if (is_reported(access.thread, access.site, access.site, Report::Kind::uninitialized))
    return;
  uint32_t first = uint32_t(first_without(state(address), is_written));
  bool coming = state(address)[first] & is_coming;
  report(access.thread, access.site, Report::Kind::uninitialized, "%s of %s at %s%s", access.what,
         bytes_text(bytes).c_str(), shared_place(access.thread, address + first).c_str(),
         coming ? " before an asynchronous copy has landed there: wait for the copy first"
                : ": the memory is uninitialized");
}

void SharedMemory::check_mbarrier(const Access &access, uint32_t address, uint32_t bytes) {
  if (live_mbarriers_ == 0 || !has_mbarrier(address, bytes))
    return;
  uint32_t first = 0;
  while (!(state(address)[first] & is_mbarrier))
    first++;
  fatal(access.thread, access.site, Report::Kind::misuse,
        "%s of %s at %s overwrites an mbarrier in use", access.what, bytes_text(bytes).c_str(),
        shared_place(access.thread, address + first).c_str());
}

const std::byte *SharedMemory::read(const Access &access, uint32_t address, uint32_t bytes,
                                    uint32_t alignment) {
  std::byte *pointer = locate(access, address, bytes, alignment);
  mark_read(access, address, bytes);
  return pointer;
}

std::byte *SharedMemory::write(const Access &access, uint32_t address, uint32_t bytes,
                               uint32_t alignment) {
  std::byte *pointer = locate(access, address, bytes, alignment);
  mark_write(access, address, bytes);
  return pointer;
}

std::byte *SharedMemory::atomic(const Access &access, uint32_t address, uint32_t bytes,
                                uint32_t alignment) {
  std::byte *pointer = locate(access, address, bytes, alignment);
  check_mbarrier(access, address, bytes);
  check_written(access, address, bytes);
  if (access.view.seen)
    mark(access, address, bytes, AccessKind::atomic);
  return pointer;
}

void SharedMemory::mark_read(const Access &access, uint32_t address, uint32_t bytes) {
  check_written(access, address, bytes);
  if (access.view.seen)
    mark(access, address, bytes, AccessKind::read);
}

void SharedMemory::mark_write(const Access &access, uint32_t address, uint32_t bytes) {
  check_mbarrier(access, address, bytes);
  std::memset(state(address), is_written, bytes);
  if (access.view.seen)
    mark(access, address, bytes, AccessKind::write);
}

void SharedMemory::poison(uint32_t address, uint32_t bytes) {
  std::memset(reinterpret_cast<void *>(uintptr_t(address)), 0xff, bytes);
  for (uint8_t *byte = state(address), *end = byte + bytes; byte != end; byte++)
    *byte = (*byte & is_mbarrier) ? *byte : is_coming;
}

bool SharedMemory::is_poisoned(uint32_t address, uint32_t bytes) const {
  return all_have(state(address), bytes, is_coming);
}

void SharedMemory::set_mbarrier(uint32_t address, bool live) {
  live_mbarriers_ += live ? 1 : -1;
  std::memset(state(address), live ? is_written | is_mbarrier : 0, 8);
}

bool SharedMemory::has_mbarrier(uint32_t address, uint32_t bytes) const {
  const uint8_t *states = state(address);
  return std::any_of(states, states + bytes, [](uint8_t s) { return s & is_mbarrier; });
}

// ---- races ----

struct SharedMemory::Mark {
  const Access &access;
  AccessKind kind;
  unsigned site;
  uint32_t begin, end; // addresses
};

void SharedMemory::mark(const Access &access, uint32_t address, uint32_t bytes, AccessKind kind) {
  Mark mark = {access, kind, site_index(*access.thread.cluster, access.site), address,
               address + bytes};
  for (uint32_t cell = address & ~(cell_bytes - 1); cell < mark.end; cell += cell_bytes)
    mark_cell(mark, cells_[(cell - base_) / cell_bytes], cell, cell_bytes);
}

// Marks the part of an access that is in a cell.
void SharedMemory::mark_cell(const Mark &mark, RaceCell &cell, uint32_t address, uint32_t bytes) {
  bool is_whole = mark.begin <= address && address + bytes <= mark.end;
  if (!is_whole || cell.is_split()) {
    mark_parts(mark, cell, address, bytes);
    return;
  }
  if (mark.access.proxy == Proxy::async)
    check_proxy(mark, cell.writer, address, bytes);
  if (Conflict with = sets_.access(cell, mark.access.view, mark.kind, mark.site))
    conflict(mark, address, bytes, with);
}

void SharedMemory::mark_parts(const Mark &mark, RaceCell &cell, uint32_t address, uint32_t bytes) {
  uint32_t part_bytes = bytes / 4;
  RaceCell *parts = sets_.split(cell);
  for (uint32_t i = 0; i < 4; i++) {
    uint32_t part = address + i * part_bytes;
    if (part < mark.end && mark.begin < part + part_bytes)
      mark_cell(mark, parts[i], part, part_bytes);
  }
  if (mark.kind == AccessKind::write && mark.begin <= address && address + bytes <= mark.end) {
    // All parts are equal again: merge them.
    PastAccess writer = {mark.access.view.epoch, mark.access.view.actor, uint16_t(mark.site << 1)};
    sets_.forget(cell);
    cell.writer = writer;
  }
}

void SharedMemory::check_proxy(const Mark &mark, const PastAccess &writer, uint32_t address,
                               uint32_t bytes) {
  const Access &access = mark.access;
  if (!writer.epoch || !clocks_->is_thread(writer.actor))
    return;
  if (!access.view.after(writer.actor, writer.epoch)) // unordered: reported as a race instead
    return;
  if (clocks_->fenced(writer.actor, writer.epoch, access.view))
    return;
  const Cluster &cluster = *access.thread.cluster;
  const Site &other = site_at(cluster, writer.site());
  if (is_reported(access.thread, access.site, other, Report::Kind::race))
    return;
  Text how;
  how.add("write by %s", actor_name(cluster, writer.actor).c_str());
  report_race(access.thread, access.site, other, how.c_str(),
              "%s: a %s of %s at %s through the async proxy may miss an earlier write: the writing "
              "thread must execute fence.proxy.async between the write and the synchronization",
              access.what, noun(mark.kind), bytes_text(bytes).c_str(),
              shared_place(access.thread, address).c_str());
}

void SharedMemory::conflict(const Mark &mark, uint32_t address, uint32_t bytes,
                            const Conflict &with) {
  const Access &access = mark.access;
  const Cluster &cluster = *access.thread.cluster;
  const Site &other = site_at(cluster, with.with.site());
  if (is_reported(access.thread, access.site, other, Report::Kind::race))
    return;
  Text how;
  how.add("%s by %s", noun(with.kind), actor_name(cluster, with.with.actor).c_str());
  report_race(access.thread, access.site, other, how.c_str(),
              "race: %s of %s at %s by %s is not ordered after an earlier %s", access.what,
              bytes_text(bytes).c_str(), shared_place(access.thread, address).c_str(),
              actor_name(cluster, access.view.actor).c_str(), noun(with.kind));
}

} // namespace tritonc::emulator
