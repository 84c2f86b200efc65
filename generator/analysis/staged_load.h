// Loads of a loop that only fill shared memory, and may do so in another trip than their own.

#pragma once

#include "ir/ir.h"

#include <vector>

namespace tritonc {

/// A load whose tile goes to a buffer in shared memory and nowhere else.
struct StagedLoad {
  ir::Op *load, *store;
  ir::Value *buffer;

  /// Of a slot of the buffer.
  int64_t bytes() const;
};

/// Those directly in `loop`, a for_loop, that can be moved: their views and masks are formulas of
/// the counter, what a mask leaves out is zero, and nothing that the loop stores changes what they
/// read. The buffer is the loop's own.
std::vector<StagedLoad> staged_loads(ir::Function &fn, ir::Op &loop);

} // namespace tritonc
