// Finds the loaded tiles that dots can read from shared memory.

#pragma once

#include "ir/ir.h"

#include <vector>

namespace tritonc {

/// A dot that has a loaded tile, or its transpose, as an operand.
struct OperandUse {
  ir::Op *dot = nullptr;
  size_t operand = 0;        // 0: A, 1: B
  std::vector<int64_t> perm; // axis d of the operand is axis perm[d] of the loaded tile
};

/// A load or tma_load whose tile nothing but dots uses.
struct OperandLoad {
  ir::Op *load = nullptr;
  std::vector<OperandUse> uses; // at least one
};

/// All such loads, in the order of the program.
std::vector<OperandLoad> operand_loads(ir::Function &fn);

/// Whether the load is directly in an innermost loop of dots.
bool is_in_mainloop(const OperandLoad &load);

/// The axis of the tile of `load` along which threads write the rows of its panel in shared memory: the
/// contiguous axis, or K if no axis is contiguous.
int panel_axis(const ir::Function &fn, const ir::Op &load, const OperandUse &use);

/// Whether a dot is directly in `block`, not in a block inside it.
bool has_dot(const ir::Block &block);

} // namespace tritonc
