// Masked loads and stores: the only masked accesses of LLVM IR that lower/ creates.

#pragma once

#include "llvm/IR/Instruction.h"
#include "llvm/IR/Value.h"

#include <optional>

namespace tritonc {

/// A call of llvm.masked.load or llvm.masked.store on global memory whose elements are all on or all
/// off.
struct MaskedAccess {
  llvm::Value *address;
  llvm::Value *on;                   // i1
  llvm::Value *masked_off = nullptr; // of a load: the result if `on` is false
  llvm::Value *stored = nullptr;     // of a store: the value
};

/// Nothing for other instructions.
std::optional<MaskedAccess> masked_access(const llvm::Instruction &instruction);

} // namespace tritonc
