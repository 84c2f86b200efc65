// prepare_for_ptx: see prepare_for_ptx.cpp.

#pragma once

namespace llvm {
class Module;
}

namespace tritonc {

/// Replaces what LLVM's NVPTX back end cannot select and what ptxas gets wrong. After the
/// optimiser, which would undo it.
void prepare_for_ptx(llvm::Module &module);

} // namespace tritonc
