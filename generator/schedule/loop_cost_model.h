// The cost of launches whose loops have other dots than those of a matmul.

#pragma once

#include "ir/ir.h"
#include "ir/launch_plan.h"
#include "ir/schedule.h"
#include "target/gpu.h"

#include <optional>

namespace tritonc {

/// Blocks that divide the loop of a program, and what each of them stores for the second launch.
struct LoopDivision {
  Expr parts, iterations; // of the loop; of a part, at most
  int64_t partial_bytes;
};

/// Estimated nanoseconds of a launch with a schedule of specialized_loads_schedule. `canonical` is a
/// result of canonical_form. Nothing if the host cannot compute how often a loop runs in the first and
/// in the last program of the grid. With `division`: of the first of two launches.
std::optional<Expr> cost_of_loops(const ir::Function &canonical, const Schedule &schedule,
                                  const Gpu &gpu, const std::optional<LoopDivision> &division = {});

} // namespace tritonc
