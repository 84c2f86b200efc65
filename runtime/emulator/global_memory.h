// Global memory: a heap of its own in which every access can be checked.
//
// Data live in one large reserved range of addresses, so that a pointer is a pointer of this
// machine. At fixed distances lie the state of each byte (allocated, written) and what is
// remembered of accesses to each word and byte; pages that nobody touches cost nothing. Freed
// memory stays unallocated, so that stale pointers are found, until all addresses have been used
// once.
//
// The class itself knows nothing of launches; what a kernel does to memory is checked by
// global_access.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace tritonc::emulator {

struct GlobalCell;

class GlobalMemory {
public:
  /// Reserves addresses, no memory. Ends the process if that fails, which takes a strange limit.
  GlobalMemory();
  ~GlobalMemory();
  GlobalMemory(const GlobalMemory &) = delete;
  GlobalMemory &operator=(const GlobalMemory &) = delete;

  struct Allocation {
    std::byte *begin;
    size_t bytes;
    bool freed;
  };

  /// A multiple of 256, as cuMemAlloc promises, and of no more; null if there is no place left.
  /// `bytes` may be 0. Nothing is written yet.
  void *allocate(size_t bytes);
  /// False if `pointer` is not the beginning of live memory. Null is fine, nothing happens.
  bool release(void *pointer);

  /// The allocation, live or freed, that `address` is in; else the nearest that ends before it or
  /// begins after it, if within `near` bytes.
  std::optional<Allocation> find(const void *address, size_t near = 0) const;
  bool is_live(const void *address, size_t bytes) const;

  /// The host wrote (or let someone write) these bytes. No check.
  void mark_initialized(void *begin, size_t bytes);
  void mark_uninitialized(void *begin, size_t bytes);
  /// Whether all were written.
  bool is_initialized(const void *begin, size_t bytes) const;

  size_t live_bytes() const;
  size_t live_count() const;

  /// Whether `address` is in the reserved range, allocated or not.
  bool contains(const void *address) const {
    return size_t(static_cast<const std::byte *>(address) - base_) < reserved;
  }

private:
  friend class GlobalAccess;
  static constexpr size_t reserved = size_t(1) << 38;
  enum State : uint8_t { allocated = 1, written = 2 };

  uint8_t *state(const void *address) const {
    return states_ + (static_cast<const std::byte *>(address) - base_);
  }
  std::byte *find_place(size_t bytes);
  /// Whether all bytes are allocated, where their states don't say so. Large allocations get their
  /// states piece by piece, when they are first used.
  bool prepare(const void *address, size_t bytes);
  const Allocation *live_around(const void *address) const;

  std::byte *base_ = nullptr;
  uint8_t *states_ = nullptr; // one per byte
  GlobalCell *cells_[3] = {}; // of each 16 bytes; of words and bytes where those are split
  mutable std::mutex mutex_;
  std::map<std::byte *, Allocation> allocations_; // by their beginning, freed ones too
  size_t used_ = 0, live_bytes_ = 0, live_count_ = 0;
  bool all_used_ = false; // `used_` came to the end once
};

} // namespace tritonc::emulator
