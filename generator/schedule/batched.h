// The schedules in which a block runs several programs side by side.

#pragma once

#include "schedule/candidate.h"
#include "target/gpu.h"

namespace tritonc {

/// Programs with few elements, side by side in a block of ElementwiseTimes::batch_elements; if
/// join_rows can change the function, also with joined rows. `canonical` has no matmul. Nothing if a
/// program has too many elements, or neither loops nor reductions, or if batch_programs cannot
/// change the function. `traffic`: that of the kernel.
std::vector<Candidate> batched_schedules(const ir::Function &canonical, const Traffic &traffic,
                                         const Gpu &gpu);

} // namespace tritonc
