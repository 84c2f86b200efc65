#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Removes operations and loop-carried values that nothing observable depends on.
void remove_dead_code(ir::Function &fn);

} // namespace tritonc
