// prepare_for_ptx: rewrites LLVM IR around gaps in NVPTX and bugs in ptxas. See
// prepare_for_ptx.cpp.

#pragma once

namespace llvm {
class Module;
}

namespace tritonc {

/// Replaces instructions that LLVM's NVPTX back end cannot select or that ptxas miscompiles. Run it
/// after the optimizer, because the optimizer would undo the changes.
void prepare_for_ptx(llvm::Module &module);

} // namespace tritonc
