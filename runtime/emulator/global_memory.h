// Global memory: a separate heap with shadow memory, so that every access can be checked.
//
// Data live in one large reserved address range, so a device pointer is a host pointer. Shadow
// memory at fixed offsets holds the state of each byte (allocated, written) and the race cells.
// Untouched pages cost nothing. The heap reuses freed memory only after it has used all addresses
// once, so that accesses through stale pointers are found.
//
// This class does not know about launches; global_access.h checks a kernel's accesses.

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
  /// Reserves addresses but no memory. Ends the process if the reservation fails (an address-space
  /// limit).
  GlobalMemory();
  ~GlobalMemory();
  GlobalMemory(const GlobalMemory &) = delete;
  GlobalMemory &operator=(const GlobalMemory &) = delete;

  struct Allocation {
    std::byte *begin;
    size_t bytes;
    bool freed;
  };

  /// Returns an address aligned to exactly 256 bytes, as cuMemAlloc guarantees; null if the range
  /// is full. `bytes` may be 0. All bytes are unwritten.
  void *allocate(size_t bytes);
  /// Returns false if `pointer` is not the start of live memory. Null does nothing.
  bool release(void *pointer);

  /// The allocation, live or freed, that contains `address`; else the nearest allocation within
  /// `near` bytes.
  std::optional<Allocation> find(const void *address, size_t near = 0) const;
  bool is_live(const void *address, size_t bytes) const;

  /// Marks bytes that the host wrote or had written. Checks nothing.
  void mark_initialized(void *begin, size_t bytes);
  void mark_uninitialized(void *begin, size_t bytes);
  /// Whether all bytes were written.
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
  /// Whether all bytes are allocated; call it when their states don't say so. Sets the states of
  /// large allocations in parts, on first use.
  bool prepare(const void *address, size_t bytes);
  const Allocation *live_around(const void *address) const;

  std::byte *base_ = nullptr;
  uint8_t *states_ = nullptr; // one per byte
  GlobalCell *cells_[3] = {}; // per 16 bytes; per word and per byte where a cell is split
  mutable std::mutex mutex_;
  std::map<std::byte *, Allocation> allocations_; // by start address, also freed ones
  size_t used_ = 0, live_bytes_ = 0, live_count_ = 0;
  bool all_used_ = false; // `used_` reached the end once
};

} // namespace tritonc::emulator
