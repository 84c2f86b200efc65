#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Replaces loop-carried values that grow by the same step every time by formulas of the counter.
void close_inductions(ir::Function &fn);

} // namespace tritonc
