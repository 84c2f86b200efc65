// The lifetime of a block's shared memory: it lives until the block's last thread exits.
//
// TMA units, tensor cores, and threads of the cluster's other blocks may also access it. Such an
// access must come before the end of the block: a thread of the block must have waited for it.
// Otherwise the memory may already belong to the next block.

#pragma once

#include "../clocks.h"
#include "../reports.h"

#include <cstdint>
#include <vector>

namespace tritonc::emulator {
struct Access;
struct Block;
} // namespace tritonc::emulator

namespace tritonc::emulator::ops {

/// Accesses to a block's shared memory by actors other than its threads.
struct OutsideUses {
  struct Use {
    Epoch epoch = 0; // 0 = none
    const Site *site = nullptr;
    const char *what = nullptr;
  };
  std::vector<Use> last; // [actor]; empty = no use

  void reset() { last.clear(); }
};

/// Records a current or future access to the shared memory of `block`, which must not have ended.
void use_from_outside(const Access &access, Block &block);

/// Call after all threads of the block have exited. Reports uses that no thread has waited for.
void check_lifetime(Block &block);

} // namespace tritonc::emulator::ops
