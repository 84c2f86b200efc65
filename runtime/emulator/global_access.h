// What the threads of one cluster do to global memory: every byte of every access is checked for
// being allocated and written, every word for accesses that nothing orders.
//
// Two blocks of a launch (of different clusters) are never ordered, whatever they do: what they
// both access, at least one of them writing, must be accessed atomically by both. Within a cluster
// the clocks decide, as for shared memory.

#pragma once

#include "global_memory.h"
#include "shared_memory.h" // Access

namespace tritonc::emulator {

class GlobalAccess {
public:
  /// Before a cluster runs.
  void start(GlobalMemory &memory, const Clocks &clocks, uint32_t launch, uint32_t cluster,
             bool uninitialized);

  /// Checks and marks an access. `alignment` is a power of two.
  const std::byte *read(const Access &access, const void *address, size_t bytes,
                        uint32_t alignment);
  std::byte *write(const Access &access, void *address, size_t bytes, uint32_t alignment);
  std::byte *atomic(const Access &access, void *address, size_t bytes, uint32_t alignment);

  /// Checks bounds and alignment only: of an asynchronous operation that marks its accesses when it
  /// happens.
  void locate(const Access &access, const void *address, size_t bytes, uint32_t alignment);
  /// Of an asynchronous operation that looks for its places only when it happens: that the thread
  /// which issues it has waited for the launch in front of this one, if it has to. The others do
  /// so, too.
  static void check_waited(const Access &access, const void *address, size_t bytes);
  void mark_read(const Access &access, const void *address, size_t bytes);
  void mark_write(const Access &access, void *address, size_t bytes);

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
};

} // namespace tritonc::emulator
