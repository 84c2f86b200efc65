// Combines two elements, and reads elements of other lanes, for reductions and scans.

#pragma once

#include "backend/target_ops.h"
#include "ir/ir.h"

#include "llvm/IR/IRBuilder.h"

namespace tritonc {

/// Combines `a` and `b` by the operation `op`, which combining_op returns.
llvm::Value *combined(llvm::IRBuilder<> &builder, ir::Opcode op, llvm::Value *a, llvm::Value *b);

/// Returns `value` of the lane that `shuffle` (one of shfl_*) selects by `which`.
llvm::Value *from_lane(llvm::IRBuilder<> &builder, TargetOp shuffle, llvm::Value *value,
                       llvm::Value *which);

} // namespace tritonc
