#pragma once

#include "llvm/IR/Module.h"

namespace tritonc {

/// Turns masked accesses to global memory into accesses with a predicate. See
/// predicate_accesses.cpp.
void predicate_accesses(llvm::Module &module);

} // namespace tritonc
