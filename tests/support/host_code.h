// A kernel in tile IR as host code in this process.

#pragma once

#include "ir/ir.h"
#include "support/jit.h"
#include "target/gpu.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace tritonc {
struct HostKernel;
}

namespace tritonc::test {

/// Of a function that went through the pipeline for `gpu`, with all that follows there: LLVM's
/// optimizer, lower_to_host, code generation. A test fails where something is wrong with it.
LinkedHostCode host_code_of(const ir::Function &fn, const Gpu &gpu);

/// In two steps: the optimizer's part (backend/ptx.h), and what follows (backend/host_object.h).
std::unique_ptr<llvm::Module> optimized(const ir::Function &fn, const Gpu &gpu,
                                        llvm::LLVMContext &context);
LinkedHostCode host_code_of(const llvm::Module &module, const HostKernel &kernel);

} // namespace tritonc::test
