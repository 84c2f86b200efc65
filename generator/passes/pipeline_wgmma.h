#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

/// Turns the dots of loops that only accumulate into asynchronous wgmmas, which stay in flight from
/// one iteration to the next.
void pipeline_wgmma(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
