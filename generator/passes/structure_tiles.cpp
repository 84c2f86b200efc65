// The tiles of structures. See structure_tiles.h.
//
// Tested by tests/passes/structure_test.cpp.

#include "passes/structure_tiles.h"

#include "passes/bundle_programs.h"
#include "passes/remove_dead_code.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

std::optional<int64_t> row_of_k(Function &fn) {
  constexpr int64_t row_bytes = 128;
  if (!has_free_steps(fn))
    return std::nullopt;
  const Type factor = find_product_loop(fn).found->dot->operand(0)->type;
  return std::max(row_bytes / bytes_of(factor.elem), factor.shape[1]);
}

// The axis of the grid along which the programs of a bundle have their sums stacked along `axis`.
std::optional<size_t> grid_axis(const Function &fn, int axis) {
  for (size_t g = 0; g < 3; g++) {
    Function bundled = clone(fn);
    std::vector<int64_t> times(3, 1);
    times[g] = 2;
    Shape before = find_product_loop(bundled).found->dot->result()->type.shape;
    if (!try_bundling(bundled, times))
      continue;
    remove_dead_code(bundled);
    std::optional<ProductLoop> product = find_product_loop(bundled).found;
    if (product && product->dot->result()->type.shape[size_t(axis)] == 2 * before[size_t(axis)])
      return g;
  }
  return std::nullopt;
}

} // namespace

ProductSetting setting_of(Function &fn) {
  return {.fn = fn,
          .product = *find_product_loop(fn).found,
          .row_of_k = row_of_k(fn),
          .axes = {grid_axis(fn, 0), grid_axis(fn, 1)}};
}

std::optional<std::vector<int64_t>> bundle_of(const ProductSetting &setting, const Tile &wanted) {
  int64_t extents[2] = {wanted.rows, wanted.columns};
  std::vector<int64_t> bundle(3, 1);
  for (size_t d = 0; d < 2; d++) {
    int64_t times = extents[d] / setting.sum()[d];
    if (times < 1 || (times > 1 && !setting.axes[d]))
      return std::nullopt;
    if (times > 1)
      bundle[*setting.axes[d]] *= times;
  }
  return bundle;
}

std::string name_of_tile(const Tile &tile, Function &fn) {
  int64_t step = find_product_loop(fn).found->dot->operand(0)->type.shape[1];
  return std::to_string(tile.rows) + "x" + std::to_string(tile.columns) + "x" +
         std::to_string(step);
}

} // namespace tritonc
