// Lets a block move the adjacent rows of its programs as one contiguous range. See join_rows.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

/// Joins the rows that the programs of a block load and store. Returns false, and changes nothing,
/// if there are none. `fn`: a result of try_batching.
bool try_joining_rows(ir::Function &fn);

void join_rows(ir::Function &fn, const Schedule &schedule);

} // namespace tritonc
