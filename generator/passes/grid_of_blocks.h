// Launches blocks that run several programs each. For the passes that make such blocks.

#pragma once

#include "ir/builder.h"

namespace tritonc {

/// Per axis of the grid: the index of the block, and the number of programs.
struct GridOfBlocks {
  ir::Value *ids[3], *programs[3];
};

/// Inserts a launch_blocks with one block for `times` programs along each axis of the grid; the
/// last block of an axis may have fewer. Or with `division` blocks for a program. Then replaces each
/// program_id by the id of the block, and each num_programs by a value that the host computes.
GridOfBlocks launch_grid_of_blocks(ir::Function &fn, const std::vector<int64_t> &times,
                                   const std::vector<int64_t> &division = {});

/// A block_id along an axis of the grid.
ir::Value *make_block_id(ir::Builder &builder, int64_t axis);

/// The launch_blocks; null: each program has a block.
ir::Op *launch_of(ir::Function &fn);

} // namespace tritonc
