// Makes the launch plan of a kernel from its `grid` and `require` pragmas.

#pragma once

#include "ir/launch_plan.h"
#include "language/ast.h"

namespace tritonc {

/// In a grid, `/` must divide exactly: the plan gets the requirement that the remainder is 0.
LaunchPlan launch_plan(const ast::Function &function);

} // namespace tritonc
