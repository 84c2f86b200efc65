// The partials of a loop that blocks divide, in a workspace. store_loop_partials stores them in one
// launch, combine_loop_partials combines them in the next.
//
// A partial has the totals of one block, one tile after the other, each in row-major order. The
// partials of all blocks follow one another, part by part. Totals of several types are stored as
// integers.
//
// A block of a matmul may run several programs (schedule.coarsening): then its total has their
// tiles side by side. In the second launch, each program has a block of its own.

#pragma once

#include "analysis/associative_loop.h"
#include "ir/schedule.h"

namespace tritonc {

struct LoopPartials {
  /// i32, from the host: the number of parts, and iterations per part. The last part may have
  /// fewer.
  ir::Value *count, *steps;
  /// From the host: the blocks of one part (i64), and those along axes 0 and 1 of the grid (i32).
  ir::Value *blocks, *extents[2];
  ir::Value *memory; // the workspace
  ir::Value *count_on_host;
  ir::Elem elem; // of the workspace

  /// Of each total, in elements: its start in a partial, and its strides.
  std::vector<int64_t> starts;
  std::vector<std::vector<int64_t>> strides;
  int64_t elements = 0; // of a partial

  /// As many parts as keep `blocks_per_sm` blocks of all SMs busy. But no more than parts of this
  /// many iterations: with fewer, the second launch takes longer than the loop.
  static constexpr int64_t min_iterations = 4;

  /// The elements of a total for which each thread loads a whole vector of 16 bytes.
  static constexpr int64_t min_elements = 512;
};

/// The partials that one iteration of the second launch combines: `beside` one another, along an
/// axis of its tiles, and `in_turn`.
struct PartsOfIteration {
  int64_t beside = 1, in_turn = 1;
  int64_t all() const { return beside * in_turn; }
};
PartsOfIteration parts_of_iteration(const AssociativeLoop &found);

/// `blocks`: i32, on the host: the blocks of one part along each axis of the grid. `times`: how many
/// tiles of `found`, along each of their axes, a total of a block has; empty: one.
LoopPartials emit_loop_partials(ir::Builder &builder, const AssociativeLoop &found,
                                const std::vector<ir::Value *> &blocks,
                                const std::vector<int64_t> &times, int blocks_per_sm);

/// A scalar or tile of `type` in the workspace: total `number` of partial `index` (i64), from
/// element `within` of the total on (i64). With more than one part: the totals of the parts from
/// this one on, along a new axis of the tile.
ir::Value *emit_total(ir::Builder &builder, const LoopPartials &partials, size_t number,
                      ir::Value *index, ir::Value *within, const ir::Type &type, int64_t parts = 1);

/// `value` with elements of type `elem`: the same bits.
ir::Value *emit_as(ir::Builder &builder, ir::Value *value, ir::Elem elem);

/// The index of a block, from its index along each axis of the grid (i32), as i64. Along the last
/// axis, the blocks of one part follow those of the previous one.
ir::Value *emit_block_index(ir::Builder &builder, const LoopPartials &partials,
                            ir::Value *const ids[3]);

} // namespace tritonc
