// The parts of a sum that blocks divide among them, in scratch memory: how many there are, and
// where each of them is. store_parts leaves them there in one launch, add_parts finds them in the
// next.
//
// The sums of all pieces of work are one matrix, row by row, or several where the grid has a third
// axis; and there is one such for each part. They are whole pieces, so what lies outside of the
// product's result has its place, too.

#pragma once

#include "analysis/affine.h"
#include "passes/structure.h"

namespace tritonc {

struct SumParts {
  /// From the host, i32: how many parts there are, and how many steps along K each of them is. The
  /// last may end behind K.
  ir::Value *count, *steps;

  /// From the host, i32: the pieces in a row, those of a matrix, and all of them.
  ir::Value *in_row, *in_matrix, *pieces;

  ir::Value *memory; // scratch

  /// What only the host knows yet: `count`.
  ir::Value *count_on_host;
};

/// Needs the grid of programs. `trips`: of the loop that is to be divided, which the host can
/// count.
SumParts emit_sum_parts(ir::Builder &builder, const DividedSum &divided, ir::Value *trips,
                        ir::Elem elem);

/// A tile of a part: where it begins in the matrix, in elements, and in which one.
ir::Value *emit_view(ir::Builder &builder, const SumParts &parts, const DividedSum &divided,
                     const Poly &part, const Poly &matrix, const Poly &row, const Poly &column,
                     const ir::Type &tile);

} // namespace tritonc
