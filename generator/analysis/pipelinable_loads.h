// Finds loads that only fill shared memory, so a loop may execute them in an earlier iteration.

#pragma once

#include "ir/ir.h"

#include <vector>

namespace tritonc {

/// A load whose only use is a store to a buffer in shared memory.
struct PipelinableLoad {
  ir::Op *load, *store;
  ir::Value *buffer;

  /// Bytes of one stage of the buffer.
  int64_t bytes() const;
};

/// The pipelinable loads directly in `loop`, a for_loop:
/// - their addresses and masks depend only on the loop counter
/// - masked-off elements are zero
/// - no store in the loop changes the memory that they read
/// - the loop allocates the buffer
std::vector<PipelinableLoad> pipelinable_loads(ir::Function &fn, ir::Op &loop);

/// A lower bound of the shared memory that `loop` needs besides the buffers of `loads`, before
/// layouts exist. It adds the buffers from outside that the loop reads, and the largest of:
/// - the loop's own buffers
/// - the results of matmuls by mma that the loop uses for more than accumulation, because these
///   pass through shared memory
int64_t bytes_beside(const std::vector<PipelinableLoad> &loads, ir::Op &loop);

} // namespace tritonc
