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

/// How much shared memory `loop` needs at least beside the buffers of `loads`, as far as can be
/// seen before there are layouts: what it reads of buffers from outside, and the largest of its own
/// buffers and of the products that it does something else with than add to them. These go through
/// shared memory to who needs their rows.
int64_t bytes_beside(const std::vector<StagedLoad> &loads, ir::Op &loop);

} // namespace tritonc
