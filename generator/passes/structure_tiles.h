// The tiles of structures: a block need not compute the source's. It can carry out a bundle of
// programs, and take other steps along K.

#pragma once

#include "analysis/product_loop.h"
#include "ir/ir.h"

#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// What a block computes at a time, in elements of the sum; how many rows of shared memory long its
/// steps along K are; and how many blocks divide the steps among them.
struct Tile {
  int64_t rows, columns, k_rows, splits = 1;

  int64_t elements() const { return rows * columns; }
  bool operator==(const Tile &) const = default;
};

/// What is known of a product before a tile is chosen.
struct ProductSetting {
  ir::Function &fn;    // canonical_form; nobody changes it, one tries on clones
  ProductLoop product; // of `fn`

  /// The elements along K that fill a row of shared memory, or the source's step if that is longer;
  /// nothing if the product can't be made to take other steps than the source's.
  std::optional<int64_t> row_of_k;

  /// The axis of the grid along which the programs of a bundle have their sums one below the other,
  /// and that along which they have them side by side; nothing if there is none.
  std::optional<size_t> axes[2];

  /// The extents of the source's tile: rows and columns of the sum.
  const ir::Shape &sum() const { return product.dot->result()->type.shape; }
};

/// Needs a product loop in `fn`.
ProductSetting setting_of(ir::Function &fn);

/// How many programs, along each of the three axes of the grid, have sums of `wanted` together;
/// nothing if no number of them has.
std::optional<std::vector<int64_t>> bundle_of(const ProductSetting &setting, const Tile &wanted);

/// "128x256x64", for the tile and step that the product of `fn` has.
std::string name_of_tile(const Tile &tile, ir::Function &fn);

} // namespace tritonc
