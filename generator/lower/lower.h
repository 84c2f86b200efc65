// Tile IR to LLVM IR.

#pragma once

#include "ir/ir.h"
#include "target/gpu.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <memory>

namespace tritonc {

/// Translates a function that went through the pipeline for `gpu`, operation by operation. The
/// result has one kernel, `fn.name`, and, if it uses shared memory, the external array
/// `tritonc_shared`; if it has constant memory, that as one block (abi::constant_block). Operations
/// that only a GPU has are calls of `tritonc.*` functions (backend/target_ops.def).
std::unique_ptr<llvm::Module> lower(const ir::Function &fn, const Gpu &gpu,
                                    llvm::LLVMContext &context);

} // namespace tritonc
