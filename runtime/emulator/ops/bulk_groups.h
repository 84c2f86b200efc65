// The bulk groups of a thread: its copies from shared memory (bulk_copies.h has the operations).

#pragma once

#include "../clocks.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tritonc::emulator::ops {

struct BulkGroups {
  struct Group {
    uint32_t reading = 0, writing = 0; // copies that have not finished their read, their write
    Clock read, written;               // of the finished reads, writes
  };
  /// The committed groups, oldest first, then the open group. The oldest groups are merged, because
  /// no wait separates them.
  std::vector<Group> groups;
  uint64_t merged = 0; // number of groups before groups[0]
  /// The thread waits for all groups before this number; 0 = does not wait.
  uint64_t awaited = 0;
  bool awaits_writing = false;

  Group &group(uint64_t number) { return groups[number < merged ? 0 : size_t(number - merged)]; }
  uint64_t open() const { return merged + groups.size() - 1; }

  void reset() {
    if (!groups.empty())
      *this = BulkGroups();
  }
};

} // namespace tritonc::emulator::ops
