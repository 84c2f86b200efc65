// LLVM IR with GPU-only calls to PTX text.
#pragma once

#include "backend/result.h"
#include "target/gpu.h"

#include "llvm/IR/Module.h"

#include <string>

namespace tritonc {

/// Sets the triple and the data layout that code for a GPU has: 64-bit pointers, 32-bit ones to
/// shared memory. To be called on an empty module, since IR that is built depends on both.
void prepare_module(llvm::Module &module);

/// Optimises `module` for `gpu`. The GPU-only calls stay calls: what comes out is what a machine
/// without a GPU can execute too.
Result<std::monostate> optimize(llvm::Module &module, const Gpu &gpu);

/// Lowers the GPU-only calls of `module` and generates PTX. Leaves nothing of use in the module.
/// With `line_info` the PTX says which line of the source its instructions come from, if the module
/// does.
Result<std::string> generate_ptx(llvm::Module &module, const Gpu &gpu, bool line_info = false);

/// Both.
Result<std::string> emit_ptx(llvm::Module &module, const Gpu &gpu);

} // namespace tritonc
