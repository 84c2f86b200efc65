// Lowers tile IR to LLVM IR.

#pragma once

#include "ir/ir.h"
#include "target/gpu.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <memory>

namespace tritonc {

/// Lowers a function after the passes for `gpu`, operation by operation. The module has:
/// - the kernel `fn.name`
/// - the external array `tritonc_shared`, if the kernel uses shared memory
/// - one block of constant memory (abi::constant_block), if the kernel has any
/// - calls of `tritonc.*` functions for operations that only a GPU has (backend/target_ops.def)
std::unique_ptr<llvm::Module> lower(const ir::Function &fn, const Gpu &gpu,
                                    llvm::LLVMContext &context);

} // namespace tritonc
