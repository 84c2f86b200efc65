// The tiles of schedules. A block need not compute the tile of the source: it can run coarsened
// programs, with another K tile.

#pragma once

#include "analysis/matmul_loop.h"
#include "ir/ir.h"
#include "ir/schedule.h"
#include "target/cost_tables.h"

#include <optional>
#include <vector>

namespace tritonc {

/// A matmul before the choice of a tile.
struct MatmulSetting {
  ir::Function &fn;  // in canonical_form; must not change: try schedules on clones
  MatmulLoop matmul; // of `fn`

  /// The K tile that fills a row of shared memory, in elements, or that of the source if it is
  /// longer. Nothing if the matmul must keep the K tile of the source.
  std::optional<int64_t> row_of_k;

  /// The axes of the grid along which programs follow one another in M and in N; nothing: no such
  /// axis.
  std::optional<size_t> axes[2];

  /// The output tile of the source: rows and columns of the accumulator.
  const ir::Shape &accumulator() const { return matmul.dot->result()->type.shape; }
};

/// Requires a matmul loop in `fn`.
MatmulSetting setting_of(ir::Function &fn);

/// The number of programs along each of the three axes of the grid that together have the
/// accumulator of `wanted`; nothing if there is no such number. 1 along the axis of division_of.
std::optional<std::vector<int64_t>> coarsening_of(const MatmulSetting &setting, const Tile &wanted);

/// Schedule::division for blocks with fewer columns than a program; empty: no division.
std::vector<int64_t> division_of(const MatmulSetting &setting, const Tile &wanted);

/// The block tile for `tile`, with the K tile of the matmul of `fn`.
BlockTile block_tile(const Tile &tile, ir::Function &fn);

} // namespace tritonc
