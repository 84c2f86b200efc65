// Loads and stores of global memory as inline PTX, where an instruction of LLVM cannot say enough.

#pragma once

#include "llvm/IR/IRBuilder.h"

#include <string>

namespace tritonc {

/// What such an access has in addition (PTX ISA, "ld" and "st").
struct GlobalAccess {
  std::string qualifiers = {};   // after `ld.global` or `st.global`: ".L1::no_allocate"
  llvm::Value *policy = nullptr; // i64: a cache policy, for `.L2::cache_hint`; null: none
  llvm::Value *on = nullptr;     // i1: whether the access happens; null: always
};

/// Loads a value of `type`, as wide as an instruction: up to 32 bits, or 64 or 128 bits.
/// `address`: a pointer to global memory, aligned to this size. `masked_off`: the result if
/// `access.on` is false.
llvm::Value *load_global(llvm::IRBuilderBase &builder, llvm::Type *type, llvm::Value *address,
                         const GlobalAccess &access, llvm::Value *masked_off = nullptr);

/// The same for a store.
void store_global(llvm::IRBuilderBase &builder, llvm::Value *value, llvm::Value *address,
                  const GlobalAccess &access);

} // namespace tritonc
