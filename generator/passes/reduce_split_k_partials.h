// Lets the second launch of split-K add the partials that the first has stored.
// See reduce_split_k_partials.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

void reduce_split_k_partials(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
