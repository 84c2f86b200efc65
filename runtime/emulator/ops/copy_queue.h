// The cp.async of a thread that have not landed (copies.h has the operations).

#pragma once

#include "../findings.h"

#include <cstdint>
#include <vector>

namespace tritonc::emulator::ops {

/// A thread's copies under way.
struct CopyQueue {
  struct Copy {
    uint32_t to, width, bytes; // the first `bytes` of `width`, zeros behind
    const void *from;
    const Site *site;
  };
  std::vector<Copy> copies;      // put off, oldest first; some at the beginning have landed
  uint64_t forgotten = 0;        // how many were put off and are not in `copies` any more
  uint64_t landed = 0;           // of all that were put off
  std::vector<uint64_t> commits; // not waited for: how many copies had been put off then

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
