// The pending cp.async copies of a thread (copies.h has the operations).

#pragma once

#include "../reports.h"

#include <cstdint>
#include <vector>

namespace tritonc::emulator::ops {

/// A thread's deferred copies.
struct CopyQueue {
  struct Copy {
    uint32_t to, width, bytes; // copies `bytes`, then zeros up to `width`
    const void *from;
    const Site *site;
  };
  std::vector<Copy> copies;      // deferred, oldest first; the first ones may have landed
  uint64_t forgotten = 0;        // deferred copies no longer in `copies`
  uint64_t landed = 0;           // deferred copies that have landed, in total
  std::vector<uint64_t> commits; // per pending commit: number of copies deferred until then

  uint64_t put_off() const { return forgotten + copies.size(); }
  void reset() {
    if (put_off() == 0 && commits.empty())
      return;
    copies.clear();
    commits.clear();
    forgotten = landed = 0;
  }
};

} // namespace tritonc::emulator::ops
