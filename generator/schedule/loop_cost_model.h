// The cost of launches whose loops have other dots than those of a matmul.

#pragma once

#include "ir/ir.h"
#include "ir/launch_plan.h"
#include "ir/schedule.h"
#include "target/gpu.h"

#include <optional>

namespace tritonc {

/// Estimated nanoseconds of a launch with a schedule of specialized_loads_schedule. `canonical` is a
/// result of canonical_form. Nothing if the host cannot compute how often a loop runs in the first and
/// in the last program of the grid.
std::optional<Expr> cost_of_loops(const ir::Function &canonical, const Schedule &schedule,
                                  const Gpu &gpu);

} // namespace tritonc
