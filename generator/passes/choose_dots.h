#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

/// Chooses the instruction of every dot, how warps share it, and the number of warps.
void choose_dots(ir::Function &fn, const Gpu &gpu, const Structure &structure = {});

/// How many warpgroups divide the rows of a sum in such a structure.
int64_t warpgroups_of(const ir::Shape &sum, const Structure &structure);

} // namespace tritonc
