// Compiles a kernel in tile IR to host code, and links it into this process.

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

/// The host code of a function after the pipeline for `gpu`. Runs LLVM's optimizer, lower_to_host
/// and code generation. An error fails the test.
LinkedHostCode host_code_of(const ir::Function &fn, const Gpu &gpu);

/// The same in two steps: the optimizer (backend/ptx.h), then the rest (backend/host_object.h).
std::unique_ptr<llvm::Module> optimized(const ir::Function &fn, const Gpu &gpu,
                                        llvm::LLVMContext &context);
LinkedHostCode host_code_of(const llvm::Module &module, const HostKernel &kernel);

} // namespace tritonc::test
