// cluster_target_ops: reorders instructions so that independent calls of one target operation are
// adjacent.
#pragma once

#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

namespace tritonc {

/// Moves instructions within the basic blocks of `function` so that calls of one operation are
/// adjacent where possible. No call and no value changes.
void cluster_target_ops(llvm::Function &function);

/// Whether calls of this operation may be reordered, and combined into one host call with several
/// records.
bool can_be_grouped(const llvm::CallInst &call);

} // namespace tritonc
