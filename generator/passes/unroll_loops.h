// Turns loops into straight code. See unroll_loops.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

/// Unrolls the loops of `fn`'s body, for launches in which each of them runs `iterations` times.
/// Returns false, and changes nothing, if the host cannot compute the iterations of all of them, or
/// if there are none.
bool try_unrolling(ir::Function &fn, int64_t iterations);

void unroll_loops(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
