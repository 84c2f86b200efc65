// The shared memory of a cluster, with shadow state for every byte and race cells.
//
// Each block has a *window* of 256 KiB. The windows are adjacent, in rank order, all below 4 GiB.
// So an i32 shared address is a host pointer, and a matrix descriptor holds its low 18 bits. A
// block's own memory starts at its window and has the launch's size.
//
// Every byte has a state (written, part of a live mbarrier). Every 16 bytes have a race cell
// (race_cells.h).
//
// Each check takes an `Access`. A wrong address ends the launch; an error in the data is reported
// and the launch continues.

#pragma once

#include "clocks.h"
#include "race_cells.h"
#include "reports.h"

#include <cstddef>
#include <cstdint>

namespace tritonc::emulator {

inline constexpr uint32_t window_bytes = 256 * 1024;

/// The proxy of an access. The async proxy (bulk and tensor copies, wgmma) does not see a write
/// through the generic proxy until its writer executes fence.proxy.async (PTX ISA, "Memory
/// Consistency Model", "Proxies").
enum class Proxy : uint8_t { generic, async };

/// The shared memory that an access may reach: the block's own, or that of the whole cluster.
enum class Reach : uint8_t { block, cluster };

/// The actor and the location of a memory access.
struct Access {
  Thread &thread; // named in reports; of an asynchronous operation: the issuing thread
  const Site &site;
  const char *what; // for messages, "ldmatrix", "load"
  View view;        // of the thread or the asynchronous operation
  Proxy proxy = Proxy::generic;
  Reach reach = Reach::block;
};

class SharedMemory {
public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;

  /// Call before a cluster runs. All bytes are unwritten and 0xff (NaN as f32, f16, bf16, f64).
  void start(const Clocks &clocks, unsigned blocks, uint32_t bytes, bool uninitialized);
  /// Clears all state; call before a launch.
  void reset();

  uint32_t base(unsigned rank) const { return base_ + rank * window_bytes; }
  uint32_t bytes() const { return bytes_; }
  /// `contains`: whether the address is in a window of the cluster. `rank`: the block of the
  /// window.
  bool contains(uint64_t address) const {
    return address - base_ < uint64_t(blocks_) * window_bytes;
  }
  unsigned rank(uint32_t address) const { return (address - base_) / window_bytes; }

  /// Check and mark an access to `bytes` at `address`, and return a host pointer. `alignment` is a
  /// power of two. All three check bounds and alignment. `read` also checks that the bytes were
  /// written, `write` that no live mbarrier is there, `atomic` both.
  const std::byte *read(const Access &access, uint32_t address, uint32_t bytes, uint32_t alignment);
  std::byte *write(const Access &access, uint32_t address, uint32_t bytes, uint32_t alignment);
  std::byte *atomic(const Access &access, uint32_t address, uint32_t bytes, uint32_t alignment);

  /// Checks only bounds and alignment. For asynchronous operations, which mark their accesses when
  /// they land, and for operations on mbarriers, which are not data.
  std::byte *locate(const Access &access, uint32_t address, uint32_t bytes, uint32_t alignment);
  /// The marks and checks of `read` and `write` without bounds and alignment.
  void mark_read(const Access &access, uint32_t address, uint32_t bytes);
  void mark_write(const Access &access, uint32_t address, uint32_t bytes);

  /// Fills the destination of a pending copy with 0xff. Not an access. The bytes count as unwritten
  /// until `mark_write`.
  void poison(uint32_t address, uint32_t bytes);
  /// Whether no byte was written since `poison`.
  bool is_poisoned(uint32_t address, uint32_t bytes) const;

  /// Sets whether the 8 bytes at `address` are a live mbarrier, which may not be written. Checks
  /// nothing.
  void set_mbarrier(uint32_t address, bool live);
  /// Whether any byte belongs to a live mbarrier.
  bool has_mbarrier(uint32_t address, uint32_t bytes) const;

private:
  uint8_t *state(uint32_t address) const { return states_ + (address - base_); }
  void check_written(const Access &access, uint32_t address, uint32_t bytes);
  void check_mbarrier(const Access &access, uint32_t address, uint32_t bytes);
  void mark(const Access &access, uint32_t address, uint32_t bytes, AccessKind kind);
  struct Mark;
  void mark_cell(const Mark &mark, RaceCell &cell, uint32_t address, uint32_t bytes);
  void mark_parts(const Mark &mark, RaceCell &cell, uint32_t address, uint32_t bytes);
  void check_proxy(const Mark &mark, const PastAccess &writer, uint32_t address, uint32_t bytes);
  void conflict(const Mark &mark, uint32_t address, uint32_t bytes, const Conflict &with);

  uint32_t base_ = 0;
  uint32_t blocks_ = 0, bytes_ = 0;
  bool uninitialized_ = true;
  const Clocks *clocks_ = nullptr;
  uint8_t *states_ = nullptr; // one per byte of all windows
  RaceCell *cells_ = nullptr; // one per 16 bytes of all windows
  RaceSets sets_;
  unsigned live_mbarriers_ = 0;
  uint32_t marked_blocks_ = 0, marked_bytes_ = 0; // bounds of the cells that may be nonempty
};

} // namespace tritonc::emulator
