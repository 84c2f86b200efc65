// Gives blocks that run at the same time programs that load the same rows and columns.
// See swizzle_programs.cpp.

#pragma once

#include "ir/builder.h"
#include "ir/ir.h"
#include "ir/schedule.h"

#include <array>

namespace tritonc {

void swizzle_programs(ir::Function &fn, const Schedule &schedule);

/// The row and column of program `number` in a grid of `rows` by `columns`. The order goes group by
/// group; a group is 16 rows. In a group, the row index runs fastest.
std::array<ir::Value *, 2> place_in_groups(ir::Builder &builder, ir::Value *number, ir::Value *rows,
                                           ir::Value *columns);

} // namespace tritonc
