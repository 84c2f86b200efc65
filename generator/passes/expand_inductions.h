#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Replaces loop-carried values that grow by a fixed step with formulas of the loop counter.
void expand_inductions(ir::Function &fn);

} // namespace tritonc
