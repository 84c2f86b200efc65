// The tiles of schedules. See tile_shapes.h.
//
// Tested by tests/unit/schedule/candidates_test.cpp.

#include "schedule/tile_shapes.h"

#include "passes/coarsen_programs.h"
#include "passes/remove_dead_code.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

std::optional<int64_t> row_of_k(Function &fn) {
  constexpr int64_t row_bytes = 128;
  if (!has_free_steps(fn))
    return std::nullopt;
  const Type operand = find_matmul_loop(fn).found->dot->operand(0)->type;
  return std::max(row_bytes / bytes_of(operand.elem), operand.shape[1]);
}

// The axis of the grid along which coarsening stacks the accumulators along `axis`.
std::optional<size_t> grid_axis(const Function &fn, int axis) {
  for (size_t g = 0; g < 3; g++) {
    Function coarsened = clone(fn);
    std::vector<int64_t> times(3, 1);
    times[g] = 2;
    Shape before = find_matmul_loop(coarsened).found->dot->result()->type.shape;
    if (!try_coarsening(coarsened, times))
      continue;
    remove_dead_code(coarsened);
    std::optional<MatmulLoop> matmul = find_matmul_loop(coarsened).found;
    if (matmul && matmul->dot->result()->type.shape[size_t(axis)] == 2 * before[size_t(axis)])
      return g;
  }
  return std::nullopt;
}

} // namespace

MatmulSetting setting_of(Function &fn) {
  return {.fn = fn,
          .matmul = *find_matmul_loop(fn).found,
          .row_of_k = row_of_k(fn),
          .axes = {grid_axis(fn, 0), grid_axis(fn, 1)}};
}

std::optional<std::vector<int64_t>> coarsening_of(const MatmulSetting &setting,
                                                  const Tile &wanted) {
  int64_t extents[2] = {wanted.rows, wanted.columns};
  std::vector<int64_t> coarsening(3, 1), division = division_of(setting, wanted);
  for (size_t d = 0; d < 2; d++) {
    int64_t times = extents[d] / setting.accumulator()[d];
    if (!division.empty() && division[setting.axes[d].value_or(d)] > 1)
      continue;
    if (times < 1 || (times > 1 && !setting.axes[d]))
      return std::nullopt;
    if (times > 1)
      coarsening[*setting.axes[d]] *= times;
  }
  return coarsening;
}

// Larger programs have no such tile: a source with a tuned axis has smaller programs, too.
std::vector<int64_t> division_of(const MatmulSetting &setting, const Tile &wanted) {
  constexpr int64_t max_elements = 64 * 64;
  const Shape &accumulator = setting.accumulator();
  int64_t extents[2] = {wanted.rows, wanted.columns};
  std::vector<int64_t> division(3, 1);
  for (size_t d = 0; d < 2; d++)
    if (setting.axes[d] && accumulator[d] % extents[d] == 0)
      division[*setting.axes[d]] = accumulator[d] / extents[d];
  const bool is_divided =
      std::any_of(division.begin(), division.end(), [](int64_t parts) { return parts > 1; });
  if (!is_divided || accumulator[0] * accumulator[1] > max_elements)
    return {};
  return division;
}

BlockTile block_tile(const Tile &tile, Function &fn) {
  int64_t k = find_matmul_loop(fn).found->dot->operand(0)->type.shape[1];
  return {tile.rows, tile.columns, k};
}

} // namespace tritonc
