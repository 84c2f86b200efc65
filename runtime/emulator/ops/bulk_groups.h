// The copies out of shared memory that a thread has issued, in groups (bulk_copies.h has the
// operations).

#pragma once

#include "../clocks.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tritonc::emulator::ops {

struct BulkGroups {
  struct Group {
    uint32_t reading = 0, writing = 0; // copies that haven't read, written all
    Clock read, written;               // of those that have
  };
  /// Committed, oldest first, and at the end the one that copies are added to now. So old that
  /// nobody will wait for them alone, groups are merged.
  std::vector<Group> groups;
  uint64_t merged = 0; // how many were in front of groups[0]
  /// The thread waits for all groups up to this number; 0: it doesn't.
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
