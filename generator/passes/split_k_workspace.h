// Split-K through a workspace: how many partials there are, and where each one is.
// store_split_k_partials stores them in one launch, reduce_split_k_partials adds them in the next.
//
// A partial has the accumulators of all output tiles: one row-major matrix, or several if the grid
// has a third axis. The partials follow one another. They consist of whole output tiles, so
// elements outside of the result have a place, too.

#pragma once

#include "analysis/affine.h"
#include "ir/ir.h"
#include "ir/schedule.h"

namespace tritonc {

struct SplitKWorkspace {
  /// i32, from the host: the number of partials, and K iterations per partial. The last partial may
  /// reach past the end of K.
  ir::Value *count, *steps;

  /// i32, from the host: output tiles per row of tiles, per matrix, and in all.
  ir::Value *in_row, *in_matrix, *output_tiles;

  ir::Value *memory; // the workspace

  /// `count`, for further computation by the host.
  ir::Value *count_on_host;
};

/// Requires that the grid is still that of programs. The host must be able to compute `iterations`,
/// the number of iterations of the mainloop.
SplitKWorkspace emit_split_k_workspace(ir::Builder &builder, const SplitKPartials &split_k,
                                       ir::Value *iterations, ir::Elem elem);

/// A view of `tile` in partial `part`, matrix number `matrix`, from element (`row`, `column`).
ir::Value *emit_view(ir::Builder &builder, const SplitKWorkspace &parts,
                     const SplitKPartials &split_k, const Poly &part, const Poly &matrix,
                     const Poly &row, const Poly &column, const ir::Type &tile);

} // namespace tritonc
