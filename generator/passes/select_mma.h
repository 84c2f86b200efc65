#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"
#include "target/gpu.h"

namespace tritonc {

/// Chooses the instruction of every dot, its division among warps, and the number of warps.
void select_mma(ir::Function &fn, const Gpu &gpu, const Schedule &schedule = {});

/// The number of warps of a kernel without dots whose largest tile in memory has this many
/// registers: one per element, or per 32-bit word of a tile that is only copied.
int warps_for_tile(int64_t registers);

/// The number of warpgroups that divide the rows of an accumulator.
int64_t warpgroups_of(const ir::Shape &accumulator, const Schedule &schedule);

/// Whether wgmma supports these element types of operands and accumulator.
bool is_type_of_wgmma(const ir::Op &dot);

/// Whether wgmma can multiply these tiles.
bool fits_wgmma(const ir::Op &dot, const Schedule &schedule = {});

} // namespace tritonc
