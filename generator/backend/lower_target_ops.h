// lower_target_ops: replaces target operations with NVPTX intrinsics or inline PTX.
#pragma once

#include "llvm/IR/Module.h"

namespace tritonc {

/// Replaces all calls of `tritonc.*` with the NVPTX forms of target_ops.def. Afterwards only NVPTX
/// code generation can use the module; an emulator cannot run it.
void lower_target_ops(llvm::Module &module);

} // namespace tritonc
