// Computes the layouts that operations require. See layouts.h.
//
// Tested by tests/unit/analysis/layouts_test.cpp and fragments_test.cpp.

#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "analysis/nearest_axis.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace tritonc {

using namespace ir;

namespace {

// The index bits of one axis. Callers take bits from the low end or from the high end.
class AxisBits {
public:
  AxisBits(const Shape &shape, int axis)
      : low_(axis_shift(shape, axis)), high_(low_ + log2_exact(shape[axis])) {}

  int left() const { return high_ - low_; }
  /// Appends the lowest `count` bits to `to`; fewer if not enough are left.
  void low(std::vector<FlatIndex> &to, int count) {
    for (; count > 0 && left() > 0; count--)
      to.push_back(1u << low_++);
  }
  /// Appends the highest `count` bits to `to`, in ascending order; zeros replace missing bits.
  void high(std::vector<FlatIndex> &to, int count) {
    int take = std::min(count, left());
    high_ -= take;
    for (int i = 0; i < take; i++)
      to.push_back(1u << (high_ + i));
    to.insert(to.end(), count - take, 0);
  }

private:
  int low_, high_;
};

constexpr int lane_bits = 5;

void pad_lanes(LinearLayout &layout) { layout.lane.resize(lane_bits, 0); }

} // namespace

LinearLayout blocked_layout(const Shape &shape, const std::vector<int> &order, int vector,
                            int warps, const std::vector<int> &warp_order) {
  LinearLayout layout;
  layout.shape = shape;
  std::vector<AxisBits> axes;
  for (int axis = 0; axis < int(shape.size()); axis++)
    axes.emplace_back(shape, axis);
  auto axis_of = [&](int axis) -> AxisBits & { return axes[size_t(axis)]; };
  if (!order.empty())
    axis_of(order[0]).low(layout.reg, log2_exact(vector));
  for (int axis : order)
    axis_of(axis).low(layout.lane, lane_bits - int(layout.lane.size()));
  pad_lanes(layout);
  int warp_bits = log2_exact(warps);
  for (int axis : warp_order.empty() ? order : warp_order)
    axis_of(axis).low(layout.warp, warp_bits - int(layout.warp.size()));
  layout.warp.resize(warp_bits, 0);
  for (int axis : order)
    axis_of(axis).low(layout.reg, axis_of(axis).left());
  return layout;
}

LinearLayout crossing_layout(const Shape &shape, AxisVector along, AxisVector across, int warps) {
  // Wider accesses must not leave threads without work.
  const int64_t per_thread = std::max<int64_t>(1, element_count(shape) / (32 * warps));
  const int64_t vector = std::min<int64_t>(along.elements, per_thread);
  LinearLayout layout;
  layout.shape = shape;
  std::vector<AxisBits> axes = {AxisBits(shape, along.axis), AxisBits(shape, across.axis)};
  for (int axis = int(shape.size()); axis-- > 0;)
    if (axis != along.axis && axis != across.axis)
      axes.emplace_back(shape, axis);
  axes[0].low(layout.reg, log2_exact(vector));
  axes[1].low(layout.reg, log2_exact(std::min<int64_t>(across.elements, per_thread / vector)));
  for (AxisBits &axis : axes)
    axis.low(layout.lane, lane_bits - int(layout.lane.size()));
  pad_lanes(layout);
  std::swap(axes[0], axes[1]);
  const int warp_bits = log2_exact(warps);
  for (AxisBits &axis : axes)
    axis.low(layout.warp, warp_bits - int(layout.warp.size()));
  layout.warp.resize(size_t(warp_bits), 0);
  for (AxisBits &axis : axes)
    axis.low(layout.reg, axis.left());
  return layout;
}

namespace {

// Whether `reduce` combines elements along `axis` of a tile of this shape: perhaps after a reshape
// that divides the axis, the parts of the whole axis.
bool reduces_along(const Op &reduce, const Shape &shape, int axis) {
  const Value *tile = reduce.operand(0);
  const int reduced = int(reduce.get(attr::axis_));
  if (tile->type.shape == shape)
    return reduced == axis;
  const bool is_divided =
      tile->op && tile->op->is(Opcode::reshape_) && tile->op->operand(0)->type.shape == shape;
  const int bit = axis_shift(tile->type.shape, reduced) - axis_shift(shape, axis);
  const int64_t extent = tile->type.shape[size_t(reduced)];
  return is_divided && bit >= 0 && extent << bit == shape[size_t(axis)];
}

bool is_reduced_along(const Function &fn, const Shape &shape, int axis) {
  bool found = false;
  for_each_op(*fn.body, [&](const Op &op) {
    found |= op.is(Opcode::reduce_) && reduces_along(op, shape, axis);
  });
  return found;
}

} // namespace

LinearLayout vector_layout(const Shape &shape, int contiguous, int vector, const Function &fn,
                           int blocks) {
  std::vector<int> order(shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  if (!order.empty()) {
    order.erase(std::find(order.begin(), order.end(), contiguous));
    order.insert(order.begin(), contiguous);
  }
  // Wider accesses must not leave threads without work.
  const int warps = fn.warps * blocks;
  const int64_t elements =
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<int64_t>());
  const int64_t per_thread = std::max<int64_t>(1, elements / (32 * warps));
  std::vector<int> warp_order = order;
  if (!order.empty() && is_reduced_along(fn, shape, order[0]))
    std::rotate(warp_order.begin(), warp_order.begin() + 1, warp_order.end());
  return blocked_layout(shape, order, int(std::min<int64_t>(vector, per_thread)), warps,
                        warp_order);
}

LinearLayout memory_layout(const Value *pointers, const Value *mask, const Function &fn,
                           int blocks) {
  const int rank = pointers->type.rank();
  std::optional<int> axis = contiguous_axis(pointers, fn);
  if (!axis)
    axis = nearest_axis(pointers);
  return vector_layout(pointers->type.shape, axis.value_or(rank - 1),
                       access_elements(pointers, mask, fn), fn, blocks);
}

// More lanes per row need more shuffles to combine its elements. Fewer lanes load more elements
// each of vectors that all rows use, such as the weights of a norm, and have bank conflicts if rows
// have an even number of words. Of 2, 4 and 8 elements per lane, 8 were fastest in softmax and
// norms of 17 to 300 columns (half, Hopper, 2026-11-26).
LinearLayout rows_layout(const Shape &shape, int64_t elements, int warps) {
  constexpr int64_t min_elements = 8;            // of a lane in a row
  const int64_t to_fill = 32 * warps / shape[0]; // lanes per row: all threads have elements
  const int64_t lanes = std::max(to_fill, elements / shape[0] / min_elements);
  LinearLayout layout;
  layout.shape = shape;
  AxisBits rows(shape, 0), columns(shape, 1);
  columns.low(layout.lane, std::min(lane_bits, log2_exact(std::max<int64_t>(1, lanes))));
  rows.low(layout.lane, lane_bits - int(layout.lane.size()));
  pad_lanes(layout);
  const int warp_bits = log2_exact(warps);
  rows.low(layout.warp, warp_bits);
  columns.low(layout.warp, warp_bits - int(layout.warp.size()));
  layout.warp.resize(size_t(warp_bits), 0);
  columns.low(layout.reg, columns.left());
  rows.low(layout.reg, rows.left());
  return layout;
}

int register_axis(const LinearLayout &layout) {
  for (int axis = int(layout.shape.size()); axis-- > 0;)
    if (std::count(layout.reg.begin(), layout.reg.end(), 1u << axis_shift(layout.shape, axis)) &&
        layout.shape[axis] > 1)
      return axis;
  return int(layout.shape.size()) - 1;
}

LinearLayout transposing_layout(const Shape &shape, const std::vector<int> &order, int warps) {
  constexpr int bits_of_a_sector = 3; // 8 elements of 4 bytes
  LinearLayout layout;
  layout.shape = shape;
  AxisBits along(shape, order[0]);
  std::vector<AxisBits> others;
  for (size_t i = 1; i < order.size(); i++)
    others.emplace_back(shape, order[i]);
  along.low(layout.lane, bits_of_a_sector);
  for (AxisBits &axis : others)
    axis.low(layout.lane, lane_bits - int(layout.lane.size()));
  along.low(layout.lane, lane_bits - int(layout.lane.size()));
  pad_lanes(layout);
  int warp_bits = log2_exact(warps);
  for (AxisBits &axis : others)
    axis.low(layout.warp, warp_bits - int(layout.warp.size()));
  along.low(layout.warp, warp_bits - int(layout.warp.size()));
  layout.warp.resize(size_t(warp_bits), 0);
  for (AxisBits &axis : others)
    axis.low(layout.reg, axis.left());
  along.low(layout.reg, along.left());
  return layout;
}

int registers_per_thread(const Type &tile) {
  return std::max(1, tile.layout->registers() * bits_of(tile.elem) / 32);
}

int access_width(const LinearLayout &layout, const Value *pointers, const Value *mask,
                 const Function &fn) {
  std::optional<int> axis = contiguous_axis(pointers, fn);
  if (!axis)
    return 1;
  int limit = access_elements(pointers, mask, fn), width = 1;
  int shift = axis_shift(layout.shape, *axis);
  while (width < limit &&
         std::count(layout.reg.begin(), layout.reg.end(), FlatIndex(width) << shift))
    width *= 2;
  return width;
}

bool fills_sectors(const LinearLayout &layout, const Value *pointers, const Function &fn) {
  const std::optional<int> contiguous = contiguous_axis(pointers, fn);
  const std::optional<int> axis = contiguous ? contiguous : nearest_axis(pointers);
  if (!axis)
    return true; // no layout fills sectors
  const int shift = axis_shift(layout.shape, *axis);
  int64_t run = access_width(layout, pointers, nullptr, fn);
  const int64_t longest =
      contiguous ? contiguous_elements(pointers, *axis, fn) : layout.shape[size_t(*axis)];
  while (run < longest &&
         std::count(layout.lane.begin(), layout.lane.end(), FlatIndex(run) << shift))
    run *= 2;
  return run == longest || run * bytes_of(pointers->type.elem) >= sector_bytes;
}

namespace {

// The offset bits of consecutive rows of `columns`. The swizzle moves the 16-byte chunks of each
// row, so eight rows have the chunks of one column in different banks. With `pairs`, adjacent rows
// are two chunks apart: then four rows have 32 bytes of the same columns in different banks.
std::vector<FlatIndex> swizzled(const std::vector<FlatIndex> &columns,
                                const std::vector<FlatIndex> &rows, int element_bytes,
                                bool pairs = false) {
  std::vector<FlatIndex> offset = columns;
  // A row shorter than 128 bytes shares the 32 banks with the next rows. Chunks have to move only
  // from the first row that starts at bank 0 again.
  int inner = int(columns.size());
  int row_bytes = log2_exact((int64_t(1) << inner) * element_bytes);
  int first_row_bit = std::max(0, 7 - row_bytes);
  int first_chunk_bit = log2_exact(16 / element_bytes);
  int chunk_bits = std::clamp(inner - first_chunk_bit, 0, 3);
  for (int bit = 0; bit < int(rows.size()); bit++) {
    int chunk = bit - first_row_bit;
    bool moves = chunk >= 0 && chunk < chunk_bits;
    if (moves && pairs)
      chunk = (chunk + 1) % chunk_bits;
    FlatIndex moved = moves ? columns[first_chunk_bit + chunk] : 0;
    offset.push_back(rows[bit] | moved);
  }
  return offset;
}

} // namespace

LinearLayout swizzled_layout(const Shape &shape, int contiguous, int element_bytes) {
  LinearLayout layout;
  layout.shape = shape;
  std::vector<FlatIndex> columns, rows;
  AxisBits(shape, contiguous).low(columns, 32);
  for (int axis = int(shape.size()); axis-- > 0;)
    if (axis != contiguous)
      AxisBits(shape, axis).low(rows, 32);
  // ldmatrix transposes only 2-byte elements. For larger elements, a warp reads 32 bytes from each
  // of four rows: eight elements of 4 bytes, or four elements of 8 bytes (by sixteen lanes at a
  // time).
  layout.offset = swizzled(columns, rows, element_bytes, element_bytes >= 4);
  return layout;
}

LinearLayout row_major_layout(const Shape &shape) {
  LinearLayout layout{shape, {}, {}, {}, {}};
  for (int64_t bit = 1; bit < element_count(shape); bit *= 2)
    layout.offset.push_back(FlatIndex(bit));
  return layout;
}

namespace {

// The indices that are the xor of some of the bases added so far.
class Span {
public:
  explicit Span(const std::vector<FlatIndex> &bases = {}) { add(bases); }

  /// Adds a basis; returns false if its index is in the span already.
  bool add(FlatIndex basis) {
    for (FlatIndex known : reduced_)
      basis = std::min(basis, basis ^ known);
    if (!basis)
      return false;
    reduced_.push_back(basis);
    return true;
  }
  /// Adds bases; returns the bases whose index was not in the span yet.
  std::vector<FlatIndex> add(const std::vector<FlatIndex> &bases) {
    std::vector<FlatIndex> added;
    std::copy_if(bases.begin(), bases.end(), std::back_inserter(added),
                 [&](FlatIndex basis) { return add(basis); });
    return added;
  }

private:
  std::vector<FlatIndex> reduced_; // no two have the same highest bit
};

constexpr int word_bytes = 4, bytes_at_once = 128; // of shared memory: a bank; all banks

// The elements that a warp accesses at a time, in 128 bytes: the vectors of some lanes. `vector`:
// the lowest bits of the offset.
std::vector<FlatIndex> accessed_at_once(const LinearLayout &layout,
                                        const std::vector<FlatIndex> &vector, int element_bytes) {
  std::vector<FlatIndex> bases;
  int bytes = element_bytes;
  for (FlatIndex basis : vector) {
    bool in_register = std::count(layout.reg.begin(), layout.reg.end(), basis);
    if (!in_register && bytes >= word_bytes)
      break;
    bases.push_back(basis);
    bytes *= 2;
  }
  for (size_t bit = 0; bit < layout.lane.size() && bytes < bytes_at_once; bit++, bytes *= 2)
    bases.push_back(layout.lane[bit]);
  return bases;
}

} // namespace

LinearLayout exchange_layout(const LinearLayout &from, const LinearLayout &to, int element_bytes) {
  const auto vector_bits = size_t(log2_exact(widest_access_bytes / element_bytes));
  const auto bank_bits = size_t(log2_exact(bytes_at_once / element_bytes));
  // The vector: registers of both, then those of the reader. If it has no more, those of the
  // writer.
  std::vector<FlatIndex> vector;
  Span in_vector;
  auto append = [&](const std::vector<FlatIndex> &registers, auto fits) {
    for (FlatIndex basis : registers)
      if (vector.size() < vector_bits && fits(basis) && in_vector.add(basis))
        vector.push_back(basis);
  };
  append(to.reg, [&](FlatIndex basis) {
    return std::find(from.reg.begin(), from.reg.end(), basis) != from.reg.end();
  });
  const bool reader_has_more = vector.size() < to.reg.size();
  append(reader_has_more ? to.reg : from.reg, [](FlatIndex) { return true; });

  // Elements at distance `rows` are in the same bank. No access has two of them: `rows` are outside
  // of both spans, or the xor of a basis of one access and a basis of the other.
  const std::vector<FlatIndex> written = accessed_at_once(from, vector, element_bytes);
  const std::vector<FlatIndex> read = accessed_at_once(to, vector, element_bytes);
  std::vector<FlatIndex> all;
  for (int bit = 0; bit < log2_exact(element_count(to.shape)); bit++)
    all.push_back(FlatIndex(1) << bit);
  Span reached(read);
  const std::vector<FlatIndex> only_written = reached.add(written);
  std::vector<FlatIndex> rows = reached.add(all);
  const std::vector<FlatIndex> only_read = Span(written).add(read);
  for (size_t i = 0; i < std::min(only_written.size(), only_read.size()); i++)
    rows.push_back(only_written[i] ^ only_read[only_read.size() - 1 - i]);
  const size_t row_bits = all.size() - std::min(all.size(), bank_bits);
  rows.resize(std::min(rows.size(), row_bits));

  // The other banks, first those of the reader.
  LinearLayout layout;
  layout.shape = to.shape;
  layout.offset = vector;
  Span placed(vector);
  placed.add(rows);
  auto place = [&](const std::vector<FlatIndex> &bases) {
    std::ranges::copy(placed.add(bases), std::back_inserter(layout.offset));
  };
  place(read);
  place(written);
  place(all);
  layout.offset.insert(layout.offset.end(), rows.begin(), rows.end());
  return layout;
}

bool has_neighbors(const Type &buffer, int axis) {
  if (!buffer.layout) // layout not assigned yet
    return true;
  Shape tile(buffer.shape.begin() + 1, buffer.shape.end());
  return tile[size_t(axis)] == 1 || buffer.layout->offset[0] == FlatIndex(1)
                                                                    << axis_shift(tile, axis);
}

int panel_row_bytes(const Shape &shape, int contiguous, int element_bytes) {
  constexpr int64_t longest = 128, shortest = 32;
  int64_t bytes = std::min(shape[size_t(contiguous)] * element_bytes, longest);
  return bytes < shortest ? 0 : int(bytes);
}

LinearLayout panel_layout(const Shape &shape, int contiguous, int element_bytes) {
  LinearLayout layout;
  layout.shape = shape;
  AxisBits along(shape, contiguous);
  along.low(layout.offset,
            log2_exact(panel_row_bytes(shape, contiguous, element_bytes) / element_bytes));
  std::vector<FlatIndex> columns = layout.offset, rows;
  for (int axis = int(shape.size()); axis-- > 0;)
    if (axis != contiguous)
      AxisBits(shape, axis).low(rows, 32);
  layout.offset = swizzled(columns, rows, element_bytes);
  along.low(layout.offset, along.left());
  return layout;
}

MatmulDivision matmul_division(const Op &op) {
  return {op.get(attr::warpgroups_), op.get(attr::rows_)};
}

namespace {

constexpr int row_bits = 6; // of a wgmma instruction

// The index bits of the rows of an instruction.
std::vector<FlatIndex> instruction_rows(const Shape &shape, const MatmulDivision &division) {
  std::vector<FlatIndex> bits;
  for (int bit = 0; bit < row_bits; bit++) {
    int64_t row = division.rows.empty() ? int64_t(1) << bit : division.rows[size_t(bit)];
    bits.push_back(FlatIndex(row) << axis_shift(shape, 0));
  }
  return bits;
}

} // namespace

LinearLayout matmul_layout(const Shape &shape, const MatmulDivision &division) {
  LinearLayout layout;
  layout.shape = shape;
  std::vector<FlatIndex> row = instruction_rows(shape, division), in_order;
  AxisBits m(shape, 0), n(shape, 1);
  m.low(in_order, row_bits);
  n.low(layout.reg, 1);
  n.low(layout.lane, 2);
  layout.lane.insert(layout.lane.end(), {row[0], row[1], row[2]});
  layout.reg.push_back(row[3]);
  layout.warp = {row[4], row[5]};
  m.high(layout.warp, log2_exact(division.warpgroups[0]));
  n.high(layout.warp, log2_exact(division.warpgroups[1]));
  n.low(layout.reg, n.left());
  m.low(layout.reg, m.left());
  return layout;
}

// Lanes hold 32-bit words along K, as in mma_operand.
LinearLayout fragment_layout(const Shape &shape, int element_bytes,
                             const MatmulDivision &division) {
  LinearLayout layout;
  layout.shape = shape;
  std::vector<FlatIndex> row = instruction_rows(shape, division), in_order;
  AxisBits m(shape, 0), k(shape, 1);
  m.low(in_order, row_bits);
  k.low(layout.reg, log2_exact(4 / element_bytes));
  k.low(layout.lane, 2);
  layout.lane.insert(layout.lane.end(), {row[0], row[1], row[2]});
  layout.reg.push_back(row[3]);
  k.low(layout.reg, k.left());
  layout.warp = {row[4], row[5]};
  m.high(layout.warp, log2_exact(division.warpgroups[0]));
  layout.warp.resize(layout.warp.size() + size_t(log2_exact(division.warpgroups[1])), 0);
  m.low(layout.reg, m.left());
  return layout;
}

// A thread reads two adjacent elements: row 8 of the instruction is next to row 0. Each lane bit
// takes a row that is in other banks than the previous lane bits. The swizzle shifts the rows of
// shared memory along K by 16 bytes each, so the lanes along K already use some banks.
std::vector<int64_t> rows_without_conflicts(const LinearLayout &buffer, int own,
                                            int element_bytes) {
  constexpr uint32_t all_banks = 128; // bytes
  uint32_t access = uint32_t(std::max(4, 2 * element_bytes));
  // The highest bit of each entry is clear in all later entries.
  std::vector<uint32_t> taken;
  auto take = [&](int axis, int64_t coordinate) {
    FlatIndex index = FlatIndex(coordinate) << axis_shift(buffer.shape, axis);
    uint32_t place = buffer.offset_of(index) * uint32_t(element_bytes);
    place &= (all_banks - 1) & ~(access - 1);
    for (uint32_t other : taken)
      place = std::min(place, place ^ other);
    if (!place)
      return false;
    taken.push_back(place);
    return true;
  };
  for (int64_t k : {4 / element_bytes, 8 / element_bytes})
    take(1 - own, k);

  std::vector<int64_t> left = {2, 4, 8, 16, 32}, rows;
  auto move = [&](std::vector<int64_t>::iterator row) {
    rows.push_back(*row);
    left.erase(row);
  };
  for (int lane_bit = 0; lane_bit < 3; lane_bit++) {
    auto free = std::find_if(left.begin(), left.end(), [&](int64_t row) { return take(own, row); });
    move(free == left.end() ? left.begin() : free);
  }
  rows.push_back(1);
  while (!left.empty())
    move(left.begin());
  return rows;
}

LinearLayout part_layout(const LinearLayout &whole, const Shape &part) {
  LinearLayout layout;
  layout.shape = part;
  auto add = [&](const std::vector<FlatIndex> &from, std::vector<FlatIndex> &to) {
    for (FlatIndex basis : from) {
      std::vector<int64_t> at = unflatten(whole.shape, basis);
      bool inside = true;
      for (size_t d = 0; d < part.size(); d++)
        inside = inside && at[d] < part[d];
      if (inside)
        to.push_back(flatten(part, at));
    }
  };
  add(whole.reg, layout.reg);
  add(whole.lane, layout.lane);
  add(whole.warp, layout.warp);
  assert(layout.lane.size() == whole.lane.size() && layout.warp.size() == whole.warp.size() &&
         "parts are told apart by registers");
  return layout;
}

DotInstruction dot_instruction(const Op &dot) {
  struct Row {
    std::string_view name;
    int m, k;
  };
  static constexpr Row rows[] = {{"m8n8k4", 8, 4},   {"m8n8k16", 8, 16},   {"m16n8k4", 16, 4},
                                 {"m16n8k8", 16, 8}, {"m16n8k16", 16, 16}, {"m16n8k32", 16, 32}};
  for (const Row &row : rows)
    if (row.name == dot.get(attr::instruction_))
      return {row.m, 8, row.k, true};
  return {1, 1, 1, false};
}

Elem operand_elem(const Op &dot) {
  return dot.has(attr::convert_to_) ? *elem_named(dot.get(attr::convert_to_))
                                    : dot.operand(0)->type.elem;
}

namespace {

struct WarpBits {
  int m, n;
};

WarpBits warp_bits(const Op &dot) {
  std::vector<int64_t> warps = dot.get(attr::warps_);
  return {log2_exact(warps[0]), log2_exact(warps[1])};
}

// An instruction has 8 rows, or 16: then a thread holds two rows that are 8 apart.
int row_bits_in_registers(const Op &dot) { return dot_instruction(dot).m == 16 ? 1 : 0; }

// Assigns the columns to warps, except the columns inside one instruction.
void divide_columns(const Op &dot, AxisBits &n, std::vector<FlatIndex> &warp, int warps) {
  if (dot.has(attr::interleaved_))
    n.low(warp, warps);
  else
    n.high(warp, warps);
}

LinearLayout mma_accumulator(const Shape &shape, const Op &dot) {
  LinearLayout layout;
  layout.shape = shape;
  AxisBits m(layout.shape, 0), n(layout.shape, 1);
  auto [warps_m, warps_n] = warp_bits(dot);
  n.low(layout.reg, 1);
  n.low(layout.lane, 2);
  m.low(layout.lane, 3);
  m.low(layout.reg, row_bits_in_registers(dot));
  m.high(layout.warp, warps_m);
  divide_columns(dot, n, layout.warp, warps_n);
  n.low(layout.reg, n.left());
  m.low(layout.reg, m.left());
  return layout;
}

// One axis of an operand is its own (m or n), the other is k. Lanes hold 32-bit words, or doubles,
// along k.
LinearLayout mma_operand(const Op &dot, int operand) {
  LinearLayout layout;
  layout.shape = dot.operand(operand)->type.shape;
  AxisBits own(layout.shape, operand), k(layout.shape, 1 - operand);
  auto [warps_m, warps_n] = warp_bits(dot);
  int per_word = std::max(1, 4 / bytes_of(operand_elem(dot)));
  k.low(layout.reg, log2_exact(per_word));
  k.low(layout.lane, 2);
  own.low(layout.lane, 3);
  if (operand == 0)
    own.low(layout.reg, row_bits_in_registers(dot));
  k.low(layout.reg, k.left());
  if (operand == 0) {
    own.high(layout.warp, warps_m);
    layout.warp.resize(warps_m + warps_n, 0);
  } else {
    layout.warp.resize(warps_m, 0);
    divide_columns(dot, own, layout.warp, warps_n);
  }
  own.low(layout.reg, own.left());
  return layout;
}

LinearLayout fma_accumulator(const Op &dot) {
  LinearLayout layout;
  layout.shape = dot.result()->type.shape;
  AxisBits m(layout.shape, 0), n(layout.shape, 1);
  auto [warps_m, warps_n] = warp_bits(dot);
  std::vector<int64_t> vector = dot.get(attr::thread_tile_);
  n.low(layout.reg, log2_exact(vector[1]));
  m.low(layout.reg, log2_exact(vector[0]));
  // Shared memory serves a warp that loads 16 bytes per lane in groups of eight lanes. The groups
  // have sixteen lanes if each lane loads the same bytes as the next lane, or as the lane after the
  // next. This lane order makes that true for both operands.
  m.low(layout.lane, 1);
  n.low(layout.lane, 3);
  m.low(layout.lane, lane_bits - int(layout.lane.size()));
  n.low(layout.lane, lane_bits - int(layout.lane.size()));
  pad_lanes(layout);
  m.high(layout.warp, warps_m);
  n.high(layout.warp, warps_n);
  n.low(layout.reg, n.left());
  m.low(layout.reg, m.left());
  return layout;
}

// The accumulator's layout along the operand's own axis, and all of k in registers.
LinearLayout fma_operand(const Op &dot, int operand) {
  LinearLayout layout;
  LinearLayout own = fma_accumulator(dot).slice(1 - operand, true);
  layout.shape = dot.operand(operand)->type.shape;
  int own_shift = axis_shift(layout.shape, operand);
  auto place = [&](const std::vector<FlatIndex> &from, std::vector<FlatIndex> &to) {
    for (FlatIndex basis : from)
      to.push_back(basis << own_shift);
  };
  AxisBits(layout.shape, 1 - operand).low(layout.reg, 32);
  place(own.reg, layout.reg);
  place(own.lane, layout.lane);
  place(own.warp, layout.warp);
  return layout;
}

} // namespace

LinearLayout accumulator_layout(const Op &dot) {
  return dot_instruction(dot).tensor_core ? mma_accumulator(dot.result()->type.shape, dot)
                                          : fma_accumulator(dot);
}

LinearLayout operand_layout(const Op &dot, int operand) {
  return dot_instruction(dot).tensor_core ? mma_operand(dot, operand) : fma_operand(dot, operand);
}

LinearLayout accumulator_layout(const Shape &shape, const Op &op) {
  return op.has(attr::warpgroups_) ? matmul_layout(shape, matmul_division(op))
                                   : mma_accumulator(shape, op);
}

void share_like(Op &op, const Op &matmul) {
  op.copy(attr::warpgroups_, matmul);
  op.copy(attr::rows_, matmul);
  op.copy(attr::warps_, matmul);
  if (matmul.has(attr::warps_))
    op.copy(attr::instruction_, matmul);
  op.copy(attr::interleaved_, matmul);
}

} // namespace tritonc
