// Gives every GPU-only operation of a module its NVPTX form.
#pragma once

#include "llvm/IR/Module.h"

namespace tritonc {

/// Replaces all calls of `tritonc.*` by the forms of target_ops.def. The last step before code
/// generation: afterwards the module is for NVPTX alone.
void lower_target_ops(llvm::Module &module);

} // namespace tritonc
