// group_operations: calls of one GPU-only operation that don't depend on each other side by side.
#pragma once

#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

namespace tritonc {

/// Moves instructions within the blocks of `function` so that calls of one operation stand next to
/// each other where they may. No call and no value changes.
void group_operations(llvm::Function &function);

/// Whether calls of this one may be moved among themselves and done by one call of many records.
bool can_be_grouped(const llvm::CallInst &call);

} // namespace tritonc
