// The cost of launches, in nanoseconds: from measured tiles, by formulas that the host evaluates at
// each launch.

#pragma once

#include "ir/launch_plan.h"
#include "ir/schedule.h"
#include "schedule/tile_shapes.h"
#include "target/gpu.h"

#include <optional>
#include <vector>

namespace tritonc {

/// The size of a matmul, as the host computes it: the elements of A, B and C, of all matrices of a
/// batch; K; and bytes per element.
struct Problem {
  Expr elements, k;
  Expr extents[2];   // rows and columns of a result; 0: no axis of the grid advances along them
  Expr unaligned[2]; // of A and B: 1 if rows do not start at multiples of 32 bytes, else 0
  size_t axes[2];    // of the grid, along M and along N
  int64_t bytes;
  const CostTables *costs; // of the GPU
};

/// Nothing if the host cannot compute the size; then costs cannot be compared.
std::optional<Problem> problem_of(const MatmulSetting &setting, const Gpu &gpu);

/// The cost of a schedule that computes the whole result in this tile.
Expr cost_of(const Schedule &schedule, const MeasuredTile &tile, const Problem &problem);

/// The cost of two launches: `first` stores split-K partials in this tile, and `second` reduces them.
/// `accumulator`: the shape of a program's accumulator.
Expr cost_of_split_k_partials(const Schedule &first, const MeasuredTile &tile,
                              const Schedule &second, const ir::Shape &accumulator,
                              const Problem &problem);

/// The cost of the baseline with 16-bit operands that cp.async copies, beside warp-specialized
/// schedules. `accumulator`: the shape of a program's accumulator. `step`: the K tile.
Expr cost_of_baseline(const ir::Shape &accumulator, int64_t step, const Problem &problem);

/// A matmul with 16-bit operands whose copies take most of the time: they go through registers, or
/// cp.async gathers them. A block runs one program, or with split-K a part of its K loop.
struct CopyingMatmul {
  ir::Shape accumulator; // of a program
  int64_t step;          // the K tile
  Problem problem;
  const MeasuredCopies *times;
  std::optional<Schedule> reduction = {}; // the second launch of split-K
};

/// The cost of these launches, with `resident` blocks per SM at a time. `threads`: of a block.
/// `spilled`: bytes that the code of a thread stores to and loads from local memory.
Expr cost_of_copies(const CopyingMatmul &copies, int64_t threads, Expr resident,
                    int64_t spilled = 0);

/// The same as cost_of_baseline for the schedule with one block per SM.
Expr cost_of_one_block_per_sm(const ir::Shape &accumulator, int64_t step, const Problem &problem);

/// The same for the baseline on GPUs without wgmma.
Expr cost_of_uncoarsened(const ir::Shape &accumulator, int64_t step, const Problem &problem);

} // namespace tritonc
