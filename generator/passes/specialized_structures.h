// Structures in which some warps copy and the others multiply, by wgmma or by mma.

#pragma once

#include "passes/structure.h"
#include "passes/structure_costs.h"
#include "passes/structure_tiles.h"

#include <optional>
#include <span>
#include <vector>

namespace tritonc {

/// The structures for `tiles`, in their order, and behind them two that share the work; one without
/// a cost if none of them will do, or nothing is known that could be compared (no `problem`).
std::vector<Structure> specialized_structures(const ProductSetting &setting,
                                              const std::optional<Problem> &problem,
                                              std::span<const MeasuredTile> tiles, const Gpu &gpu);

} // namespace tritonc
