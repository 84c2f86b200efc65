// The schedule in which several blocks divide the loop of a program.

#pragma once

#include "schedule/candidate.h"
#include "target/gpu.h"

namespace tritonc {

/// Two launches: the first stores partials of the loop, the second combines them. `canonical` has
/// no matmul, and `work` is that of its programs. Nothing if the loop is not associative.
std::vector<Candidate> split_loop_schedules(const ir::Function &canonical, const BlockWork &work,
                                            const Gpu &gpu);

} // namespace tritonc
