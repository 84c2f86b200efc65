// Lets each block of the first launch of split-K store a partial. See store_split_k_partials.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

/// Whether a second launch can run everything that comes after the mainloop.
bool can_split_k(ir::Function &fn);

void store_split_k_partials(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
