// The shared memory of a block lives until its last thread exits.
//
// Copy engines, tensor cores and the threads of the cluster's other blocks may access it without
// being one of those threads. Such an access has to come before that end: some thread of the block
// must have waited for it. Otherwise it may find the memory in the hands of the next block.

#pragma once

#include "../clocks.h"
#include "../findings.h"

#include <cstdint>
#include <vector>

namespace tritonc::emulator {
struct Access;
struct Block;
} // namespace tritonc::emulator

namespace tritonc::emulator::ops {

/// Accesses to a block's shared memory by others than its threads.
struct OutsideUses {
  struct Use {
    Epoch epoch = 0; // 0: none
    const Site *site = nullptr;
    const char *what = nullptr;
  };
  std::vector<Use> last; // [actor]; empty: none at all

  void reset() { last.clear(); }
};

/// `access` is, or is going to be, to the shared memory of `block`, which must not have ended.
void use_from_outside(const Access &access, Block &block);

/// The block's threads have all exited. Reports uses that nobody has waited for.
void check_lifetime(Block &block);

} // namespace tritonc::emulator::ops
