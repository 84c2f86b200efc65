// The schedule in which several blocks divide the loop of a program.

#pragma once

#include "schedule/candidate.h"
#include "target/gpu.h"

namespace tritonc {

/// Two launches: the first stores partials of the loop, the second combines them. `canonical` has
/// no matmul, and `work` is that of its programs. Nothing if the loop is not associative.
std::vector<Candidate> split_loop_schedules(const ir::Function &canonical, const BlockWork &work,
                                            const Gpu &gpu);

/// The same for the only loop with dots, as specialized_loads_schedule has it in the schedule `whole`.
/// Nothing if the cost of one of the launches is unknown.
std::vector<Candidate> split_loop_of_dots(const ir::Function &canonical, const Schedule &whole,
                                          const Gpu &gpu);

} // namespace tritonc
