// Split-K in a cluster: its blocks divide the K loop of an output tile. See split_k_in_cluster.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

/// Whether the blocks of a cluster can share everything that comes after the mainloop.
bool can_split_k_in_cluster(ir::Function &fn);

/// Restricts `loop` to `count` of its iterations, from iteration `first` on.
void take_part_of_steps(ir::Function &fn, ir::Op *loop, ir::Value *first, ir::Value *count);

void split_k_in_cluster(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
