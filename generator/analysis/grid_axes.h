// The axes of the grid that values of a matmul depend on.

#pragma once

#include "analysis/matmul_loop.h"

#include <optional>
#include <set>

namespace tritonc {

/// The axes of the grid whose program_id or block_id `value` is computed from, outside of loops.
std::set<int64_t> grid_axes_of(const ir::Value *value);

/// An operand of a matmul of which adjacent programs along `axis` load the same tiles.
struct SharedOperand {
  int operand; // 0: A, 1: B
  int64_t axis;
};

/// The larger operand that programs along axis 0 or 1 of the grid share, while each has its own
/// tiles of the other operand.
std::optional<SharedOperand> find_shared_operand(const MatmulLoop &matmul);

} // namespace tritonc
