// How reductions and scans combine two elements, and get those of other lanes.

#pragma once

#include "backend/target_ops.h"
#include "ir/ir.h"

#include "llvm/IR/IRBuilder.h"

namespace tritonc {

/// `a` and `b` by the operation that a {op} names.
llvm::Value *combined(llvm::IRBuilder<> &builder, ir::Opcode op, llvm::Value *a, llvm::Value *b);

/// `value` of the lane that `shuffle`, one of shfl_*, finds by `which`.
llvm::Value *from_lane(llvm::IRBuilder<> &builder, TargetOp shuffle, llvm::Value *value,
                       llvm::Value *which);

} // namespace tritonc
