// The shared memory of a cluster, and what is known of each byte and word of it.
//
// Each block has a *window* of 256 KiB, one behind the other by rank, all below 4 GiB: an i32
// address of shared memory is a pointer of this machine, and its low 18 bits are what a matrix
// descriptor holds. A block's own memory begins at its window and has the bytes of the launch.
//
// Every byte has a state (written, part of a live mbarrier), every 16 bytes have the accesses that
// later ones might race with (race_cells.h).
//
// All checks are in the name of an `Access`. They end the launch where the address is wrong, and
// report where data are.

#pragma once

#include "clocks.h"
#include "findings.h"
#include "race_cells.h"

#include <cstddef>
#include <cstdint>

namespace tritonc::emulator {

inline constexpr uint32_t window_bytes = 256 * 1024;

/// The way to memory that an access takes. A write through the generic proxy is not seen by the
/// async proxy (bulk and tensor copies, wgmma) until its writer executes fence.proxy.async (PTX
/// ISA, "Memory Consistency Model", "Proxies").
enum class Proxy : uint8_t { generic, async };

/// Whose shared memory: the block's own, or any of the cluster.
enum class Reach : uint8_t { block, cluster };

/// Who accesses memory.
struct Access {
  Thread &thread; // in whose name findings are reported; of asynchronous operations: who issued it
  const Site &site;
  const char *what; // for messages, "ldmatrix", "load"
  View view;        // the thread's own, or the asynchronous operation's
  Proxy proxy = Proxy::generic;
  Reach reach = Reach::block;
};

class SharedMemory {
public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;

  /// Before a cluster runs: nothing is written, all bytes are 0xff (as f32, f16, bf16, f64: NaN).
  void start(const Clocks &clocks, unsigned blocks, uint32_t bytes, bool uninitialized);
  /// Forgets everything; before a launch.
  void reset();

  uint32_t base(unsigned rank) const { return base_ + rank * window_bytes; }
  uint32_t bytes() const { return bytes_; }
  /// Whether it is in a window of the cluster, and then whose.
  bool contains(uint64_t address) const {
    return address - base_ < uint64_t(blocks_) * window_bytes;
  }
  unsigned rank(uint32_t address) const { return (address - base_) / window_bytes; }

  /// Checks and marks an access to `bytes` at `address`; the pointer is to there. `alignment` is a
  /// power of two. All three check bounds and alignment; `read` that the bytes were written;
  /// `write` that there is no live mbarrier; `atomic` both.
  const std::byte *read(const Access &access, uint32_t address, uint32_t bytes, uint32_t alignment);
  std::byte *write(const Access &access, uint32_t address, uint32_t bytes, uint32_t alignment);
  std::byte *atomic(const Access &access, uint32_t address, uint32_t bytes, uint32_t alignment);

  /// Checks bounds and alignment only: of an asynchronous operation that is issued now and marks
  /// its accesses when it happens; of operations on mbarriers, which are not data.
  std::byte *locate(const Access &access, uint32_t address, uint32_t bytes, uint32_t alignment);
  /// The marks and checks of `read` and `write` but for bounds and alignment.
  void mark_read(const Access &access, uint32_t address, uint32_t bytes);
  void mark_write(const Access &access, uint32_t address, uint32_t bytes);

  /// Fills what a copy under way will overwrite with 0xff. Not an access. Until `mark_write` these
  /// bytes count as unwritten.
  void poison(uint32_t address, uint32_t bytes);
  /// Whether all of it still is as `poison` left it: nothing was written there since.
  bool is_poisoned(uint32_t address, uint32_t bytes) const;

  /// The 8 bytes at `address` are (not) a live mbarrier now: writing to them is an error. No check.
  void set_mbarrier(uint32_t address, bool live);
  /// Whether some byte belongs to a live mbarrier.
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
  uint32_t marked_blocks_ = 0, marked_bytes_ = 0; // which cells may not be empty
};

} // namespace tritonc::emulator
