// Checks the accesses of one cluster's threads to global memory: bounds, initialization, and races.
//
// Only signals order two blocks of a launch that are in different clusters: what comes after a
// wait_signal reads what was written before the signal. Otherwise, if both access the same bytes and
// one of them writes, both must use atomic operations. Within a cluster, the clocks decide (as for
// shared memory).

#pragma once

#include "global_memory.h"
#include "shared_memory.h" // Access

#include <vector>

namespace tritonc::emulator {

struct LaunchState;

class GlobalAccess {
public:
  /// Call before a cluster runs.
  void start(GlobalMemory &memory, const Clocks &clocks, uint32_t launch, uint32_t cluster,
             bool uninitialized);

  /// Check and mark an access. `alignment` is a power of two.
  const std::byte *read(const Access &access, const void *address, size_t bytes,
                        uint32_t alignment);
  std::byte *write(const Access &access, void *address, size_t bytes, uint32_t alignment);
  std::byte *atomic(const Access &access, void *address, size_t bytes, uint32_t alignment);

  /// Checks only bounds and alignment, for an asynchronous operation that marks its accesses when
  /// it lands.
  void locate(const Access &access, const void *address, size_t bytes, uint32_t alignment);
  /// Checks that the thread has waited for the previous launch (dependency_wait) if it must. The
  /// other functions check this too; call it for an asynchronous operation that finds its addresses
  /// only when it lands.
  static void check_waited(const Access &access, const void *address, size_t bytes);
  void mark_read(const Access &access, const void *address, size_t bytes);
  void mark_write(const Access &access, void *address, size_t bytes);

  /// Takes a signal of another cluster; returns false if there is none. Writes before the signal then
  /// come before the next accesses of `thread`.
  bool take_signal(LaunchState &launch, Actor thread, const void *address);

private:
  void check_written(const Access &access, const void *address, size_t bytes);
  void mark(const Access &access, const void *address, size_t bytes, AccessKind kind);
  struct Mark;
  void mark_cell(const Mark &mark, int level, size_t offset);
  void mark_parts(const Mark &mark, int level, size_t offset);
  void mark_whole(const Mark &mark, GlobalCell &cell, size_t offset);
  void split(int level, size_t offset);
  void conflict(const Mark &mark, size_t offset, const Conflict &with, bool other_cluster);

  GlobalMemory *memory_ = nullptr;
  const Clocks *clocks_ = nullptr;
  uint32_t launch_ = 0, cluster_ = 0;
  bool uninitialized_ = true;
  RaceSets sets_;

  // A signal that a thread of this cluster has taken.
  struct Taken {
    uint64_t cluster = 0;           // that gave it
    std::vector<Epoch> epochs = {}; // of its actors, which came before
    Actor by = 0;
    Epoch at = 0; // epoch of `by`
  };
  bool is_signaled(const View &view, uint32_t cluster, const PastAccess &write) const;
  std::vector<Taken> taken_;
};

} // namespace tritonc::emulator
