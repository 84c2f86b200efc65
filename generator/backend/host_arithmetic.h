// host_arithmetic: arithmetic that a host's instructions don't have, or that would trap there.
#pragma once

#include "llvm/IR/Function.h"

namespace tritonc {

/// Rewrites the arithmetic of `function` so that it neither traps nor needs a function of the
/// compiler's own library, and rounds as a GPU does.
void expand_host_arithmetic(llvm::Function &function);

} // namespace tritonc
