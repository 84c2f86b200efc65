// Allocates global memory and keeps the states of its bytes. See global_memory.h.
//
// Tested by tests/unit/emulator/global_memory_test.cpp.

#include "global_memory.h"

#include "global_cells.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace tritonc::emulator {
namespace {

constexpr size_t alignment = 256;
// Bytes between allocations, so that an access slightly out of bounds does not hit the next one.
constexpr size_t gap = 64 * 1024;
constexpr size_t page = 4096;
// Larger allocations are marked as allocated in parts of this size, on first use.
constexpr size_t piece = 64 * 1024;

// After the data: the states, the cells per 16 bytes, per word, and per byte.
constexpr size_t cell = sizeof(GlobalCell);
constexpr size_t factor = 1 + 1 + cell / 16 + cell / 4 + cell;

size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

// Returns the whole pages of a range to the OS and zeroes the rest.
void clear(void *begin, size_t bytes) {
  auto address = reinterpret_cast<uintptr_t>(begin);
  uintptr_t first = round_up(address, page), last = (address + bytes) / page * page;
  if (first >= last) {
    std::memset(begin, 0, bytes);
    return;
  }
  std::memset(begin, 0, first - address);
  std::memset(reinterpret_cast<void *>(last), 0, address + bytes - last);
  madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED);
}

} // namespace

GlobalMemory::GlobalMemory() {
  void *memory = mmap(nullptr, reserved * factor, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "emulator: cannot reserve addresses for global memory: raise the limit of "
                         "virtual memory (ulimit -v)\n");
    std::abort();
  }
  madvise(memory, reserved * factor, MADV_DONTDUMP);
  base_ = static_cast<std::byte *>(memory);
  states_ = reinterpret_cast<uint8_t *>(base_ + reserved);
  for (auto [level, place] : {std::pair(0, 2), {1, 2 + cell / 16}, {2, 2 + cell / 16 + cell / 4}})
    cells_[level] = reinterpret_cast<GlobalCell *>(base_ + place * reserved);
}

GlobalMemory::~GlobalMemory() { munmap(base_, reserved * factor); }

// ---- allocating ----

std::byte *GlobalMemory::find_place(size_t bytes) {
  // An odd multiple of 256, so that code that relies on more alignment fails.
  size_t begin = round_up(used_, 2 * alignment) + alignment;
  while (!all_used_) {
    if (begin + bytes + gap <= reserved) {
      used_ = round_up(begin + bytes + gap, page);
      return base_ + begin;
    }
    all_used_ = true;
  }
  // Search the gaps between live allocations.
  begin = alignment;
  for (const auto &[place, allocation] : allocations_) {
    if (allocation.freed)
      continue;
    size_t next = size_t(place - base_);
    if (begin + bytes + gap <= next)
      return base_ + begin;
    begin = round_up(next + allocation.bytes + gap, page) + alignment;
  }
  return begin + bytes + gap <= reserved ? base_ + begin : nullptr;
}

void *GlobalMemory::allocate(size_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > reserved / 2)
    return nullptr;
  std::byte *begin = find_place(bytes);
  if (!begin)
    return nullptr;
  // Drop the records of freed allocations there.
  auto overlapping = allocations_.lower_bound(begin);
  if (overlapping != allocations_.begin()) {
    auto before = std::prev(overlapping);
    if (before->second.begin + before->second.bytes > begin)
      overlapping = before;
  }
  while (overlapping != allocations_.end() &&
         overlapping->first < begin + std::max<size_t>(bytes, 1))
    overlapping = allocations_.erase(overlapping);

  allocations_[begin] = {begin, bytes, false};
  live_bytes_ += bytes;
  live_count_++;
  if (bytes <= piece)
    std::memset(state(begin), allocated, bytes);
  return begin;
}

const GlobalMemory::Allocation *GlobalMemory::live_around(const void *address) const {
  auto *where = static_cast<std::byte *>(const_cast<void *>(address));
  auto after = allocations_.upper_bound(where);
  if (after == allocations_.begin())
    return nullptr;
  const Allocation &allocation = std::prev(after)->second;
  bool is_inside = size_t(where - allocation.begin) < allocation.bytes;
  return is_inside && !allocation.freed ? &allocation : nullptr;
}

bool GlobalMemory::prepare(const void *address, size_t bytes) {
  std::lock_guard lock(mutex_);
  const Allocation *allocation = live_around(address);
  if (!allocation)
    return false;
  size_t offset = size_t(static_cast<const std::byte *>(address) - allocation->begin);
  if (bytes > allocation->bytes - offset)
    return false;
  size_t first = offset / piece * piece;
  size_t last = std::min(round_up(offset + bytes, piece), allocation->bytes);
  uint8_t *states = state(allocation->begin);
  for (size_t i = first; i < last; i++)
    if (states[i] == 0) // nonzero: the host wrote it, or another OS thread was faster
      states[i] = allocated;
  return true;
}

bool GlobalMemory::release(void *pointer) {
  if (!pointer)
    return true;
  std::lock_guard lock(mutex_);
  auto found = allocations_.find(static_cast<std::byte *>(pointer));
  if (found == allocations_.end() || found->second.freed)
    return false;
  Allocation &allocation = found->second;
  allocation.freed = true;
  live_bytes_ -= allocation.bytes;
  live_count_--;
  size_t offset = size_t(allocation.begin - base_), bytes = allocation.bytes;
  clear(state(allocation.begin), bytes);
  clear(allocation.begin, bytes);
  size_t first = offset / 16 * 16, last = round_up(offset + bytes, 16);
  for (size_t level = 0; level < 3; level++) {
    size_t cell_bytes = size_t(16) >> (2 * level);
    clear(cells_[level] + first / cell_bytes, (last - first) / cell_bytes * sizeof(GlobalCell));
  }
  return true;
}

// ---- queries ----

std::optional<GlobalMemory::Allocation> GlobalMemory::find(const void *address, size_t near) const {
  std::lock_guard lock(mutex_);
  auto *where = static_cast<std::byte *>(const_cast<void *>(address));
  auto after = allocations_.upper_bound(where);
  std::optional<Allocation> nearest;
  size_t distance = near;
  if (after != allocations_.end() && size_t(after->first - where) <= distance) {
    nearest = after->second;
    distance = size_t(after->first - where);
  }
  if (after != allocations_.begin()) {
    const Allocation &before = std::prev(after)->second;
    size_t offset = size_t(where - before.begin);
    if (offset < before.bytes || offset - before.bytes < distance)
      nearest = before;
  }
  return nearest;
}

bool GlobalMemory::is_live(const void *address, size_t bytes) const {
  std::lock_guard lock(mutex_);
  const Allocation *allocation = live_around(address);
  return allocation && bytes <= size_t(allocation->begin + allocation->bytes -
                                       static_cast<const std::byte *>(address));
}

void GlobalMemory::mark_initialized(void *begin, size_t bytes) {
  std::memset(state(begin), allocated | written, bytes);
}

void GlobalMemory::mark_uninitialized(void *begin, size_t bytes) {
  std::memset(state(begin), allocated, bytes);
}

bool GlobalMemory::is_initialized(const void *begin, size_t bytes) const {
  return std::all_of(state(begin), state(begin) + bytes, [](uint8_t s) { return s & written; });
}

size_t GlobalMemory::live_bytes() const {
  std::lock_guard lock(mutex_);
  return live_bytes_;
}

size_t GlobalMemory::live_count() const {
  std::lock_guard lock(mutex_);
  return live_count_;
}

} // namespace tritonc::emulator
