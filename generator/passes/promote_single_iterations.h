// Turns loops that run once into straight code. See promote_single_iterations.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

/// Promotes the loops of `fn`'s body. Returns false, and changes nothing, if the host cannot compute
/// the iterations of all of them, or if there are none.
bool try_promoting(ir::Function &fn);

void promote_single_iterations(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
