// The loop that makes a kernel a matrix product: `sum += a @ b` of tiles that are loaded for it.

#pragma once

#include "analysis/tensor_access.h"

namespace tritonc {

/// A factor of a dot: what is loaded, seen through a transposition.
struct LoadedFactor {
  ir::Op *load = nullptr;    // load or map_load
  std::vector<int64_t> perm; // axis d of the factor is axis perm[d] of what is loaded
};

struct ProductLoop {
  ir::Op *loop = nullptr; // a for_loop
  ir::Op *dot = nullptr;  // directly in it; its sum is carried and used for nothing else there
  size_t carried = 0;     // which of the carried values the sum is
  LoadedFactor factors[2];
};

/// Why there is none.
enum class NoProductLoop {
  no_dot,
  several_dots,
  not_in_a_loop,   // of a known number of trips
  sum_not_carried, // or used in the loop for something else
  not_loaded,      // a factor is computed from what is loaded, or used for something else too
};

struct ProductLoopResult {
  std::optional<ProductLoop> found;
  NoProductLoop why = NoProductLoop::no_dot;
};

ProductLoopResult find_product_loop(ir::Function &fn);

/// Whether `tile`, which is computed element by element from the sum of a product, is computed from
/// the sum's transpose. Nothing if it is not computed from one. `sum` is what the loop gives; where
/// it is not known, it is what a product_wait gives.
std::optional<bool> is_from_transposed_sum(const ir::Value *tile, const ir::Value *sum = nullptr);

/// Along which axis of `result` the columns of the sum are, which has this shape. What is not
/// computed from the sum may lie either way, so it only has to have the shape; nothing if it has
/// not.
std::optional<int> axis_of_columns(const ir::Value *result, const ir::Shape &shape,
                                   const ir::Value *sum = nullptr);

/// Whether the product of a function can take other steps along K than the source's: its factors
/// move on along it by a step in each trip, and the loop does nothing else.
bool has_free_steps(ir::Function &fn);

} // namespace tritonc
