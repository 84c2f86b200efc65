// host_arithmetic: expands arithmetic that the host CPU has no instruction for, or that would trap.
#pragma once

#include "llvm/IR/Function.h"

namespace tritonc {

/// Rewrites the arithmetic of `function`: it does not trap, needs no compiler runtime library
/// (libgcc), and rounds as a GPU does.
void expand_host_arithmetic(llvm::Function &function);

} // namespace tritonc
