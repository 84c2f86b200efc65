// The launch plan of a kernel, from its `grid` and `require` pragmas.

#pragma once

#include "ir/launch_plan.h"
#include "language/ast.h"

namespace tritonc {

/// In a grid, `/` divides exactly: that there is no remainder becomes a requirement.
LaunchPlan launch_plan(const ast::Function &function);

} // namespace tritonc
