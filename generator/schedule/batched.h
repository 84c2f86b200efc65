// The schedule in which a block runs several programs side by side.

#pragma once

#include "schedule/candidate.h"
#include "target/gpu.h"

namespace tritonc {

/// Programs with few elements, side by side in a block of ElementwiseTimes::batch_elements.
/// `canonical` has no matmul. Nothing if a program has too many elements, or neither loops nor
/// reductions, or if batch_programs cannot change the function.
std::optional<Candidate> batched_schedule(const ir::Function &canonical, const Gpu &gpu);

} // namespace tritonc
