// The schedules that the compiler compiles a kernel with. See ir/schedule.h: what a schedule is.

#pragma once

#include "ir/ir.h"
#include "schedule/candidate.h"
#include "target/gpu.h"

#include <vector>

namespace tritonc {

/// The schedules worth compiling for a function as translated, the best one first. The last one is
/// the baseline, which has no requirements. Where two launches share the work, the schedule of the
/// second follows that of the first.
std::vector<Candidate> candidate_schedules(const ir::Function &fn, const Gpu &gpu);

/// The candidates that are compiled for a GPU; with `assert` or `print` only the baseline. Both
/// call functions of the driver. These use registers that a warp-specialized kernel may have
/// released.
std::vector<Candidate> candidates_for_code(const ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
