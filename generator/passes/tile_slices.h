// Computes a tile part by part, so that only one part is in registers at a time: a part of a sum is
// the sum of the parts of its operands.

#pragma once

#include "ir/builder.h"
#include "ir/ir.h"

#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace tritonc {

/// The elements of a tile from `origin` on.
struct Part {
  ir::Shape shape;
  std::vector<int64_t> origin;

  auto operator<=>(const Part &) const = default;
};

/// The part of the view that `whole` accesses, for an access there.
ir::Value *part_of_view(ir::Builder &builder, const ir::Value &whole, const Part &part);

/// The part of a mask that is a conjunction of bounds; null: the mask is not.
ir::Value *part_of_bounds(ir::Builder &builder, const ir::Value *mask, const Part &part);

/// Whether `tile` is computed from ranges and scalars, element by element, as addresses are.
bool is_index_tile(const ir::Value *tile);

/// Emits parts of index tiles, each once.
class IndexParts {
public:
  ir::Value *of(ir::Builder &builder, ir::Value *tile, const Part &part);

private:
  std::map<std::pair<const ir::Value *, Part>, ir::Value *> emitted_;
};

/// The piece of a store by threads, cut along `axis`; empty: the store stays whole. Its pointers
/// must be a view or an index tile, and its mask made of bounds or an index tile.
ir::Shape piece_of_store(const ir::Op &store, int axis);

/// Which tiles the stores of a block compute part by part: results of element-wise operations,
/// broadcasts and loads. Another user of a tile of full size needs all of it in registers, so that
/// tile is not sliced.
class SlicedTiles {
public:
  /// Before the first store is replaced.
  SlicedTiles(ir::Function &fn, const std::vector<ir::Op *> &stores);

  /// Whether `store` computes the part of `tile` from parts of the operands of `tile`.
  bool contains(const ir::Value *tile, const Part &part, const ir::Op &store) const;
  /// Whether only the stores need the result of `op`.
  bool is_only_stored(const ir::Op &op) const { return only_stored_.count(&op); }
  /// Whether a thread has registers for its elements of two such parts.
  bool fits_twice(const Part &part) const;

private:
  bool finds(const ir::Value *tile, const Part &part, const ir::Op &store) const;

  int64_t threads_;
  // Pairs of a load and the store that it may move to.
  std::set<std::pair<const ir::Op *, const ir::Op *>> movable_;
  std::set<const ir::Op *> only_stored_; // the stores, and operations whose results only they need
  mutable std::map<std::tuple<const ir::Value *, ir::Shape, const ir::Op *>, bool> found_;
};

/// One part of the tile that a store stores.
class Slice {
public:
  /// Makes the part of a tile of full size that is not sliced.
  using Leaf = std::function<ir::Value *(ir::Builder &, ir::Value *tile, const Part &)>;

  Slice(const SlicedTiles &sliced, const ir::Op &store, Part part, Leaf leaf)
      : sliced_(sliced), store_(store), part_(std::move(part)), leaf_(std::move(leaf)) {}

  const Part &part() const { return part_; }

  /// Emits the loads that `compute` needs, but not those of many elements: another slice is in
  /// registers, too.
  void load(ir::Builder &builder) { load(builder, store_.operand(1), part_); }
  /// Sets the part of a loaded tile of full size, which `compute` then does not load.
  void set(ir::Builder &builder, const ir::Value &tile, ir::Value *part) {
    computed_[{&tile, part_}] = leaf_(builder, part, first(part_));
  }
  /// Emits everything else. Returns the part.
  ir::Value *compute(ir::Builder &builder) { return compute(builder, store_.operand(1), part_); }

private:
  void load(ir::Builder &builder, ir::Value *tile, const Part &part);
  ir::Value *loaded(ir::Builder &builder, ir::Value *tile, const Part &part);
  ir::Value *compute(ir::Builder &builder, ir::Value *tile, const Part &part);
  // Whether parts of `tile` are the tile itself, such as a column that is broadcast along the rows.
  bool is_uncut(const ir::Value *tile, const Part &part) const;
  bool is_full(const ir::Value *tile) const;
  static Part first(const Part &part) {
    return {part.shape, std::vector<int64_t>(part.shape.size(), 0)};
  }

  const SlicedTiles &sliced_;
  const ir::Op &store_;
  Part part_;
  Leaf leaf_;
  std::map<std::pair<const ir::Value *, Part>, ir::Value *> loaded_, computed_;
};

} // namespace tritonc
