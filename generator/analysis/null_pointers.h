// Finds the pointer parameters of a kernel that may be null.

#pragma once

#include "ir/ir.h"

#include <vector>

namespace tritonc {

/// For each parameter: whether it is a pointer, and a kernel that gets null for it makes no access
/// through it. The kernel does not use it, or only after a comparison with null.
std::vector<bool> may_be_null(const ir::Function &fn);

} // namespace tritonc
