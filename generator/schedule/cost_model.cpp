// The cost of launches. See cost_model.h.
//
// Method: output tiles come in waves, with at most one tile per SM. A wave takes its K iterations
// plus the measured time before and after them. A launch takes its waves, but at least the time to
// read and write its bytes.
//
// Tested by tests/unit/schedule/matmul_cost_test.cpp. And by
// tests/end_to_end/compile/schedules_test.cpp: for which schedule the host finds the lowest cost.

#include "schedule/cost_model.h"

#include "analysis/launch_config.h"
#include "analysis/memory_access.h"
#include "analysis/tensor_access.h"
#include "schedule/cost_formulas.h"
#include "target/tma_boxes.h"

#include <algorithm>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

// Output tiles per wave. The SMs of an H200 are in groups of at most 18, and a cluster must be in
// one group: a group has room for four clusters of four.
Expr tiles_at_once(const CostTables &costs, int64_t split_k = 1) {
  const int64_t group = costs.sms_per_cluster_group;
  if (split_k == 1)
    return num_sms();
  return Expr::binary(Expr::Kind::div, num_sms() * number(group / split_k), number(group));
}

// Output tiles, or clusters of `multicast` tiles along `shared_axis` of the grid. Blocks that share
// the tile of a program compute tiles up to the end of the result: coarsen_programs omits the others.
Expr output_tiles_of(const Schedule &schedule, const Problem &problem, int64_t multicast = 1,
                     size_t shared_axis = 0) {
  const int64_t extents[] = {schedule.tile.m, schedule.tile.n};
  Expr tiles = number(1);
  for (size_t axis : {0, 1, 2}) {
    const bool is_divided = !schedule.division.empty() && schedule.division[axis] > 1;
    const size_t d = problem.axes[1] == axis; // of the result
    Expr along_axis = is_divided ? problem.extents[d] : programs(axis);
    const int64_t of_tile = is_divided ? extents[d] : schedule.coarsening[axis];
    const int64_t of_cluster = axis == shared_axis ? of_tile * multicast : of_tile;
    tiles = tiles * div_up(std::move(along_axis), number(of_cluster));
  }
  return tiles;
}

constexpr int64_t row_bytes = 128; // along K, as in the measurements

// K iterations, in units of row_bytes. With a K tile of `k_rows` rows, a partial K tile takes as
// long as a full one.
Expr steps_of(const Problem &problem, int64_t split_k = 1, int64_t k_rows = 1) {
  Expr steps = div_up(problem.k * number(problem.bytes), number(row_bytes * split_k * k_rows));
  return k_rows == 1 ? steps : std::move(steps) * number(k_rows);
}

// Whether the blocks of a cluster share the rows of A. They share the larger operand.
bool shares_a(const Schedule &schedule, const Tile &tile) {
  return (tile.columns <= tile.rows) != schedule.swap_operands;
}

// Picoseconds for a block to copy 128 bytes along K of operand `d`. A tile at the edge leaves out boxes
// outside of the operand, so this is the mean of all tiles. With multicast, a block copies a part of
// the shared operand.
Expr copy_time(size_t d, const Schedule &schedule, const MeasuredTile &tile,
               const Problem &problem) {
  const CostTables &costs = *problem.costs;
  const int64_t extent = d == 0 ? schedule.tile.m : schedule.tile.n;
  const int64_t box = std::min(extent, predicated_box_rows);
  const int64_t blocks = (shares_a(schedule, tile.tile) ? 0 : 1) == d ? tile.multicast : 1;
  const Expr &inside = problem.extents[d];
  Expr outside = div_up(inside, number(box)) * number(box) - inside;
  Expr of_all = inside * number(costs.row_time) +
                inside * problem.unaligned[d] * number(costs.unaligned_row_time - costs.row_time) +
                std::move(outside) * number(costs.outside_row_time);
  Expr tiles = Expr::binary(Expr::Kind::max, div_up(inside, number(extent)), number(1));
  return div_up(std::move(of_all), std::move(tiles) * number(blocks));
}

// Nanoseconds of 128 bytes along K.
Expr step_of(const Schedule &schedule, const MeasuredTile &tile, const Problem &problem) {
  constexpr int64_t picoseconds = 1000;
  Expr copies = copy_time(0, schedule, tile, problem) + copy_time(1, schedule, tile, problem);
  return Expr::binary(Expr::Kind::max, number(tile.step),
                      div_up(std::move(copies), number(picoseconds)));
}

// Nanoseconds of `waves` waves of blocks. With ping-pong one consumer group multiplies while the
// other runs its epilogue, so only the epilogue of the last wave counts.
Expr cost_of_waves(Expr waves, const Schedule &schedule, const MeasuredTile &tile,
                   const Problem &problem) {
  const bool by_tma = schedule.is_warp_specialized() && !schedule.producer_warps;
  Expr steps = steps_of(problem, tile.tile.split_k, tile.tile.k_rows) *
               (by_tma ? step_of(schedule, tile, problem) : number(tile.step));
  Expr rest = number(tile.rest);
  if (tile.consumer_groups == 1)
    return std::move(waves) * (std::move(steps) + std::move(rest));
  Expr per_tile = Expr::binary(Expr::Kind::max, std::move(steps), number(tile.min_time));
  return std::move(waves) * std::move(per_tile) + std::move(rest);
}

// Nanoseconds of a block with stream-K: its K iterations (see emit_stream_k), and the partials that it
// passes on or adds.
Expr cost_of_stream_k(const Schedule &schedule, const MeasuredTile &tile, const Problem &problem) {
  auto binary = [](Expr::Kind kind, Expr a, Expr b) {
    return Expr::binary(kind, std::move(a), std::move(b));
  };
  Expr tiles = output_tiles_of(schedule, problem), blocks = tiles_at_once(*problem.costs);
  Expr steps = steps_of(problem, 1, tile.tile.k_rows);
  Expr full = binary(Expr::Kind::div, tiles, blocks);
  Expr divided_wave = binary(Expr::Kind::min, full, number(1));
  Expr divided = binary(Expr::Kind::rem, tiles, blocks) + divided_wave * blocks;
  Expr of_block = (std::move(full) - std::move(divided_wave)) * steps +
                  div_up(std::move(divided) * steps, blocks);
  Expr partials = div_up(blocks, binary(Expr::Kind::max, tiles, number(1))); // of a tile
  return std::move(of_block) * step_of(schedule, tile, problem) +
         div_up(std::move(tiles), blocks) * number(tile.rest) +
         std::move(partials) * number(tile.partial);
}

// Nanoseconds of a launch: the time of its waves (`by_steps`), but at least the time to read and
// write all bytes once. `by_steps` / 16 is added: if memory limits two launches, the one with
// shorter waves has more time to wait for memory, and is faster.
//
// Warp-specialized blocks read 3800 bytes per nanosecond (64 rows, 8192 columns, K = 8192, on an
// H200), and fewer if some of their rows are outside of the matrix. They start 1300 ns after the
// launch; the baseline starts sooner.
Expr cost_of_launch(const Expr &by_steps, const Problem &problem, int64_t bytes_per_ns,
                    int64_t launch) {
  Expr by_bytes = div_up(problem.elements * number(problem.bytes), number(bytes_per_ns));
  return number(launch) + Expr::binary(Expr::Kind::max, by_steps, by_bytes) +
         Expr::binary(Expr::Kind::div, by_steps, number(16));
}

Expr cost_of_launch(const Expr &by_steps, const Problem &problem) {
  return cost_of_launch(by_steps, problem, problem.costs->bytes_per_ns, problem.costs->launch);
}

// Programs on one SM take as long at the same time as one after the other.
Expr cost_of_programs(const MeasuredPrograms &measured, const Shape &accumulator, int64_t step,
                      const Problem &problem, int64_t bytes_per_ns) {
  constexpr int64_t picoseconds = 1000; // per nanosecond
  const int64_t elements = accumulator[0] * accumulator[1],
                copied = accumulator[0] + accumulator[1];
  const int64_t k_rows = std::max<int64_t>(step * problem.bytes / row_bytes, 1);
  Expr program =
      steps_of(problem, 1, k_rows) *
          number(measured.step + elements * measured.accumulator + copied * measured.copied) +
      div_up(problem.k, number(step)) * number(measured.iteration) +
      number(measured.rest + elements * measured.stored);
  Expr by_steps = div_up(div_up(all_programs(), tiles_at_once(*problem.costs)) * std::move(program),
                         number(picoseconds));
  return cost_of_launch(by_steps, problem, bytes_per_ns, measured.launch);
}

// The axes of the grid that choose a matrix of a batch: they give neither rows nor columns.
std::set<size_t> batch_axes(const MatmulSetting &setting) {
  std::set<size_t> axes;
  for_each_op(*setting.fn.body, [&](const Op &op) {
    if (op.is(Opcode::program_id_))
      axes.insert(size_t(op.get(attr::axis_)));
  });
  for (std::optional<size_t> of_matrix : setting.axes)
    axes.erase(*of_matrix);
  return axes;
}

} // namespace

namespace {

// The host computes it like a value of the function; nullopt: it cannot.
std::optional<Expr> expression_of(const Poly &poly) {
  Expr sum = number(0);
  for (const auto &[monomial, coefficient] : poly.terms) {
    Expr product = number(coefficient);
    for (const Value *symbol : monomial) {
      std::optional<Expr> factor = host_expression(symbol);
      if (!factor)
        return std::nullopt;
      product = std::move(product) * std::move(*factor);
    }
    sum = std::move(sum) + std::move(product);
  }
  return sum;
}

// 1 if the rows of an operand do not start at multiples of 32 bytes from each other, else 0.
Expr is_unaligned(const LoadedOperand &operand) {
  std::optional<TensorAccess> access =
      tensor_access(operand.load->operand(0), operand.load->operand_or_null(1)).access;
  std::optional<Expr> stride;
  if (access && access->strides.size() == 2)
    stride = expression_of(access->strides[size_t(1 - access->contiguous)]);
  if (!stride)
    return number(0);
  const int64_t bytes = bytes_of(operand.load->result()->type.elem);
  Expr rest =
      Expr::binary(Expr::Kind::rem, std::move(*stride) * number(bytes), number(sector_bytes));
  return Expr::binary(Expr::Kind::min, number(1), std::move(rest));
}

// The extent of an operand along `axis`: `of_tiles`, unless a mask says that the last tile is cut.
Expr extent_of(const LoadedOperand &operand, size_t axis, Expr of_tiles) {
  std::optional<TensorAccess> access =
      tensor_access(operand.load->operand(0), operand.load->operand_or_null(1)).access;
  if (access)
    for (const Poly &bound : access->extents[size_t(operand.perm[axis])].bounds)
      if (std::optional<Expr> extent = expression_of(bound))
        of_tiles = Expr::binary(Expr::Kind::min, std::move(of_tiles), std::move(*extent));
  return of_tiles;
}

// Whether each element of the operand is another element in memory. A tile of pointers may load an
// element many times, such as a pixel of a convolution.
bool is_read_once(const LoadedOperand &operand) { return operand.load->operand(0)->type.is_view(); }

// The rows of A, or the columns of B, in all programs along the operand's axis of the grid.
Expr extent_of(const MatmulSetting &setting, size_t operand) {
  Expr of_tiles = programs(*setting.axes[operand]) * number(setting.accumulator()[operand]);
  return extent_of(setting.matmul.operands[operand], operand, std::move(of_tiles));
}

Expr elements_of_matrices(const MatmulSetting &setting, const Expr &k) {
  Expr rows = extent_of(setting, 0), columns = extent_of(setting, 1);
  Expr elements = (rows + columns) * k + rows * columns;
  for (size_t axis : batch_axes(setting))
    elements = std::move(elements) * programs(axis);
  return elements;
}

// The elements of the result, and of an operand that is not gathered.
Expr elements_beside_gathers(const MatmulSetting &setting, const Expr &k) {
  const Shape &accumulator = setting.accumulator();
  Expr elements = all_programs() * number(accumulator[0] * accumulator[1]);
  for (size_t operand : {0, 1})
    if (is_read_once(setting.matmul.operands[operand]) && setting.axes[operand])
      elements = std::move(elements) + extent_of(setting, operand) * k;
  return elements;
}

} // namespace

std::optional<Problem> problem_of(const MatmulSetting &setting, const Gpu &gpu) {
  const LoadedOperand *operands = setting.matmul.operands;
  const bool gathers = is_gathered(setting.matmul);
  std::optional<Expr> iterations = host_expression(setting.matmul.loop->operand(0));
  if (!iterations || (!gathers && (!setting.axes[0] || !setting.axes[1])))
    return std::nullopt;
  const Type &a = setting.matmul.dot->operand(0)->type;
  Expr k = *iterations * number(a.shape[1]);
  auto extent = [&](size_t operand) {
    return setting.axes[operand] ? extent_of(setting, operand) : number(0);
  };
  return Problem{.elements = gathers ? elements_beside_gathers(setting, k)
                                     : elements_of_matrices(setting, k),
                 .k = std::move(k),
                 .extents = {extent(0), extent(1)},
                 .unaligned = {is_unaligned(operands[0]), is_unaligned(operands[1])},
                 .axes = {setting.axes[0].value_or(0), setting.axes[1].value_or(1)},
                 .bytes = bytes_of(a.elem),
                 .costs = gpu.costs};
}

Expr cost_of(const Schedule &schedule, const MeasuredTile &tile, const Problem &problem) {
  if (schedule.stream_k)
    return cost_of_launch(cost_of_stream_k(schedule, tile, problem), problem);
  const size_t shared_axis = problem.axes[shares_a(schedule, tile.tile) ? 1 : 0];
  Expr waves = div_up(output_tiles_of(schedule, problem, tile.multicast, shared_axis),
                      tiles_at_once(*problem.costs, schedule.split_k * tile.multicast));
  return cost_of_launch(cost_of_waves(std::move(waves), schedule, tile, problem), problem);
}

// The second launch has a start time, and reads what the first has stored: `parts` partials per
// program. Its bytes in flight depend on its number of blocks. `stored`: elements of all partials of
// one part.
Expr cost_of_reduction(const Schedule &schedule, const Expr &parts, Expr stored,
                       const Shape &accumulator, const Problem &problem) {
  constexpr int64_t bytes = 4;
  const CostTables &costs = *problem.costs;
  int64_t blocks = 1; // of a program
  for (int64_t along_axis : schedule.division)
    blocks *= along_axis;
  const int64_t of_block = accumulator[0] * accumulator[1] * bytes / blocks;
  auto div = [](Expr a, int64_t b) {
    return Expr::binary(Expr::Kind::div, std::move(a), number(b));
  };
  Expr by_bytes = div(std::move(stored) * parts * number(bytes), costs.reduction_bytes_per_ns);
  Expr waves = div_up(all_programs() * number(blocks), tiles_at_once(costs));
  Expr by_block = div(std::move(waves) * parts * number(of_block), costs.reduction_bytes_per_block);
  return number(costs.reduction_launch) +
         Expr::binary(Expr::Kind::max, std::move(by_bytes), std::move(by_block));
}

Expr cost_of_split_k_partials(const Schedule &first, const MeasuredTile &tile,
                              const Schedule &second, const Shape &accumulator,
                              const Problem &problem) {
  Expr tiles = output_tiles_of(first, problem), at_once = tiles_at_once(*problem.costs);
  Expr steps = steps_of(problem);
  Expr parts = parts_of_loop(steps, at_once, tiles);
  Expr by_steps = div_up(tiles * parts, at_once) *
                  (div_up(steps, parts) * step_of(first, tile, problem) + number(tile.rest));
  Expr reduction =
      cost_of_reduction(second, parts, tiles * number(tile.tile.elements()), accumulator, problem);
  return cost_of_launch(by_steps + std::move(reduction), problem);
}

Expr cost_of_baseline(const Shape &accumulator, int64_t step, const Problem &problem) {
  const CostTables &costs = *problem.costs;
  return cost_of_programs(costs.programs_beside_wgmma, accumulator, step, problem,
                          costs.bytes_per_ns_baseline);
}

// The loads of a K iteration wait for memory. Other blocks on the SM use the time, so waves count.
Expr cost_of_copies(const CopyingMatmul &copies, int64_t threads, Expr resident, int64_t spilled) {
  constexpr int64_t picoseconds = 1000; // per nanosecond
  const Problem &problem = copies.problem;
  const MeasuredCopies &times = *copies.times;
  const int64_t elements = copies.accumulator[0] * copies.accumulator[1];
  const int64_t copied = (copies.accumulator[0] + copies.accumulator[1]) * copies.step;
  Expr iterations = div_up(problem.k, number(copies.step)), blocks = all_programs();
  std::optional<Expr> reduction;
  if (copies.reduction) {
    Expr at_once = num_sms() * number(copies.reduction->blocks_per_sm);
    Expr parts = parts_of_loop(iterations, std::move(at_once), all_programs());
    iterations = div_up(std::move(iterations), parts);
    blocks = std::move(blocks) * parts;
    reduction = cost_of_reduction(*copies.reduction, parts, all_programs() * number(elements),
                                  copies.accumulator, problem);
  }
  Expr waves = div_up(blocks, num_sms() * std::move(resident));
  Expr wave = iterations * number(times.iteration * picoseconds + copied / threads * times.copied) +
              number(times.rest * picoseconds);
  const auto multiplied = int64_t(double(elements * copies.step) * times.multiplied);
  Expr program =
      iterations * number(multiplied + threads * (times.thread + spilled / 4 * times.spilled)) +
      number(elements * times.stored);
  Expr by_steps = div_up(std::move(waves) * std::move(wave) +
                             div_up(std::move(blocks), num_sms()) * std::move(program),
                         number(picoseconds));
  if (reduction)
    by_steps = std::move(by_steps) + std::move(*reduction);
  return cost_of_launch(by_steps, problem, problem.costs->bytes_per_ns_baseline, times.launch);
}

// More stages keep more loads in flight, but take longer to fill.
Expr cost_of_one_block_per_sm(const Shape &accumulator, int64_t step, const Problem &problem) {
  const CostTables &costs = *problem.costs;
  return cost_of_programs(costs.programs_beside_wgmma, accumulator, step, problem,
                          costs.bytes_per_ns_multistage) +
         number(costs.multistage_start);
}

Expr cost_of_uncoarsened(const Shape &accumulator, int64_t step, const Problem &problem) {
  const CostTables &costs = *problem.costs;
  return cost_of_programs(costs.programs_without_wgmma, accumulator, step, problem,
                          costs.bytes_per_ns);
}

} // namespace tritonc
