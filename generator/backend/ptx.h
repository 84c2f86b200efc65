// Optimizes LLVM IR that contains target operations, and generates PTX from it.
#pragma once

#include "support/result.h"
#include "target/gpu.h"

#include "llvm/IR/Module.h"

#include <string>

namespace tritonc {

/// Sets the triple and the data layout for GPU code: 64-bit pointers, but 32-bit pointers to shared
/// memory. Call it on an empty module, because the IR builder uses both.
void prepare_module(llvm::Module &module);

/// Optimizes `module` for `gpu`. Target operations stay calls, so the emulator can also run the
/// result.
Result<std::monostate> optimize(llvm::Module &module, const Gpu &gpu);

/// Lowers the target operations of `module` and generates PTX. Do not use the module afterwards.
/// With `line_info` the PTX has the source line of each instruction, if the module has debug
/// locations.
Result<std::string> generate_ptx(llvm::Module &module, const Gpu &gpu, bool line_info = false);

/// optimize, then generate_ptx.
Result<std::string> emit_ptx(llvm::Module &module, const Gpu &gpu);

} // namespace tritonc
