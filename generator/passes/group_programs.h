// Give neighbouring blocks programs that need the same rows and columns.

#pragma once

#include "ir/builder.h"
#include "passes/structure.h"

#include <array>

namespace tritonc {

void group_programs(ir::Function &fn, const Structure &structure);

/// The place of program `number` in a grid of `rows` by `columns`, when groups of rows come one
/// after the other and rows run fastest in each.
std::array<ir::Value *, 2> place_in_groups(ir::Builder &builder, ir::Value *number, ir::Value *rows,
                                           ir::Value *columns);

} // namespace tritonc
