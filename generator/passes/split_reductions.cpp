// split_reductions: lets each warp combine its own elements before warps exchange values.
//
//     %c = convert_layout %x : f32[4096] #1    =>    %p = reshape %x : f32[4,4,256] #2
//     %r = reduce %c {axis = 0} : f32                %q = reduce %p {axis = 0} : f32[4,256] #3
//                                                    %s = reduce %q {axis = 1} : f32[4] #4
//                                                    %c = convert_layout %s : f32[4] #5
//                                                    %r = reduce %c {axis = 0} : f32
//
// Four warps hold the elements of %x: bits 8 and 9 of the index select the warp. The conversion of
// %x would write all elements to shared memory, and each warp would read all of them. Now it moves
// one value per warp.
//
//     %r = add (reduce %a), (reduce %b)        =>    %t = add (totals of threads of %a and of %b)
//                                                    %r = reduce %t
//
// Two reductions with one result exchange values once.
//
// Method:  assign_layouts converts the operand of a reduction to a layout in which a warp holds the
//          whole axis. From the layout before the conversion, the pass finds the index bits that
//          select the warp. It divides the axis at these bits and reduces the other parts first.
//          The original reduction remains for the values of the warps: each thread reads those that
//          it needs, and combines them in the order of the index.
// Needs:   assign_layouts.
// Ensures: nothing that later passes need.
// Limits:  merges reductions of tiles of one axis whose lanes and warps follow their registers.
//          Otherwise these index bits must be adjacent, each basis of the warp must be one bit, and the
//          divided tile must not have too many axes. Otherwise the tile is converted as a whole, as
//          it is for another use.
//
// Tested by tests/unit/passes/split_reductions/.

#include "passes/split_reductions.h"

#include "ir/builder.h"

#include <algorithm>
#include <bit>

namespace tritonc {

using namespace ir;

namespace {

// The part of a flat index along an axis.
struct AxisBits {
  int shift;
  FlatIndex mask;

  AxisBits(const Shape &shape, int axis)
      : shift(axis_shift(shape, axis)), mask(FlatIndex(shape[size_t(axis)] - 1)) {}

  FlatIndex coordinate(FlatIndex index) const { return index >> shift & mask; }
};

// The bits of the coordinate along the axis that select the warp; nullopt if the warp also depends
// on other axes, or on several bits at once.
std::optional<FlatIndex> warp_bits(const LinearLayout &layout, int axis) {
  const AxisBits along(layout.shape, axis);
  FlatIndex bits = 0;
  for (FlatIndex basis : layout.warp) {
    FlatIndex coordinate = along.coordinate(basis);
    if (!coordinate)
      continue;
    if (basis != coordinate << along.shift || !std::has_single_bit(coordinate))
      return std::nullopt;
    bits |= coordinate;
  }
  return bits;
}

Value *reduced(Builder &builder, Value *tile, int axis, const Op &like) {
  Value *result = builder.reduce(tile, axis, std::string(like.get(attr::op_)));
  result->type = result->type.with_layout(tile->type.layout->slice(axis, false));
  return result;
}

// The layout of one value per warp, for a reduction whose result has the layout `wanted` (null: a
// scalar): each thread holds the values of all warps.
LinearLayout exchange_layout(const Shape &shape, int axis, const LinearLayout *wanted,
                             size_t warp_bases) {
  LinearLayout layout = {
      shape, {}, std::vector<FlatIndex>(5), std::vector<FlatIndex>(warp_bases), {}};
  auto with_axis = [&](std::vector<FlatIndex> bases) {
    for (FlatIndex &basis : bases) {
      std::vector<int64_t> coordinates = unflatten(wanted->shape, basis);
      coordinates.insert(coordinates.begin() + axis, 0);
      basis = flatten(shape, coordinates);
    }
    return bases;
  };
  if (wanted)
    layout = {shape, with_axis(wanted->reg), with_axis(wanted->lane), with_axis(wanted->warp), {}};
  for (int64_t bit = 1; bit < shape[size_t(axis)]; bit *= 2)
    layout.reg.push_back(FlatIndex(bit) << axis_shift(shape, axis));
  return layout;
}

// A tile of one axis, divided so that each thread has one part of the warps and of the lanes.
struct Threads {
  int64_t high, warps, lanes, low;
};

std::optional<Threads> threads_of(const LinearLayout &layout) {
  Threads threads{1, int64_t(1) << layout.warp.size(), int64_t(1) << layout.lane.size(), 1};
  const int64_t extent = layout.shape[0];
  while (std::count(layout.reg.begin(), layout.reg.end(), FlatIndex(threads.low)))
    threads.low *= 2;
  threads.high = extent / threads.low / threads.lanes / threads.warps;
  FlatIndex bit = FlatIndex(threads.low);
  for (const std::vector<FlatIndex> *bases : {&layout.lane, &layout.warp})
    for (FlatIndex basis : *bases) {
      if (basis != bit)
        return std::nullopt;
      bit *= 2;
    }
  return threads.high ? std::optional(threads) : std::nullopt;
}

// The total of each thread, a tile [warps, lanes]; null: the layout of `tile` has other parts.
Value *totals_of_threads(Builder &builder, Value *tile, const Op &like) {
  if (!tile->type.layout || tile->type.rank() != 1)
    return nullptr;
  std::optional<Threads> threads = threads_of(*tile->type.layout);
  if (!threads)
    return nullptr;
  LinearLayout divided = *tile->type.layout;
  divided.shape = {threads->high, threads->warps, threads->lanes, threads->low};
  Type type = Type::tile(tile->type.elem, divided.shape).with_layout(divided);
  Value *value = builder.create(Opcode::reshape_, {tile}, {type})->result();
  value = reduced(builder, value, 3, like);
  return reduced(builder, value, 0, like);
}

// A total that a reduction makes, and what is combined with it afterwards.
struct Total {
  const Op *reduce = nullptr; // null: there is none
  Value *tile = nullptr;      // its elements, before a conversion
  Value *more = nullptr;      // maybe null
};

// Finds reduce %tile, or `op` of it and another value, such as the start of a loop.
Total total_of(Function &fn, const Value *result, Opcode op) {
  Total total;
  if (count_uses(*fn.body, result) != 1 || !result->type.is_scalar())
    return total;
  const Op *made = result->op;
  if (made && made->code == op)
    for (size_t i : {0, 1})
      if (Total found = total_of(fn, made->operand(i), op); found.reduce && !found.more) {
        found.more = made->operand(1 - i);
        return found;
      }
  const bool is_reduced =
      made && made->is(Opcode::reduce_) && combining_op(made->get(attr::op_)) == op;
  if (!is_reduced)
    return total;
  Value *tile = made->operand(0);
  const bool is_converted = tile->op && tile->op->is(Opcode::convert_layout_);
  return {made, is_converted ? tile->op->operand(0) : tile};
}

// Combines the elements of each thread first where two reductions have one result:
// add (reduce %a), (reduce %b).
void merge(Function &fn, Op *op) {
  if (op->results.size() != 1 || !op->result()->type.is_scalar() || op->operands.size() != 2)
    return;
  const Total first = total_of(fn, op->operand(0), op->code);
  const Total second = total_of(fn, op->operand(1), op->code);
  if (!first.reduce || !second.reduce || first.reduce->parent != op->parent ||
      second.reduce->parent != op->parent)
    return;
  Builder builder = Builder::before(fn, op);
  builder.set_location(op->location);
  Value *a = totals_of_threads(builder, first.tile, *first.reduce);
  Value *b = totals_of_threads(builder, second.tile, *second.reduce);
  if (!a || !b || !(a->type == b->type))
    return;
  Op *both = builder.create(op->code, {a, b}, {a->type});
  both->attributes = op->attributes;
  Value *of_warps = reduced(builder, both->result(), 1, *first.reduce);
  const Type exchanged = of_warps->type.with_layout(
      exchange_layout(of_warps->type.shape, 0, nullptr, a->type.layout->warp.size()));
  const bool has_one_warp = of_warps->type == exchanged;
  Value *all = has_one_warp
                   ? of_warps
                   : builder.create(Opcode::convert_layout_, {of_warps}, {exchanged})->result();
  Value *result = builder.reduce(all, 0, std::string(first.reduce->get(attr::op_)));
  for (Value *more : {first.more, second.more})
    if (more)
      result = builder.binary(op->code, result, more);
  result->name = op->result()->name;
  replace_uses(*fn.body, op->result(), result);
  erase(op); // remove_dead_code erases the two reductions
}

void split(Function &fn, Op *reduce) {
  const Op *convert = reduce->operand(0)->op;
  if (!convert || !convert->is(Opcode::convert_layout_) || !convert->operand(0)->type.layout)
    return;
  Value *tile = convert->operand(0);
  const int axis = int(reduce->get(attr::axis_));
  const int64_t extent = tile->type.shape[size_t(axis)];
  std::optional<FlatIndex> bits = warp_bits(*tile->type.layout, axis);
  if (!bits || !*bits)
    return;
  const int64_t low = int64_t(1) << std::countr_zero(*bits);
  const int64_t warps = int64_t(1) << std::popcount(*bits);
  const int64_t high = extent / low / warps;
  if (int64_t(*bits) != low * (warps - 1) || warps == extent)
    return;

  Shape parts;
  for (int64_t part : {high, warps, low})
    if (part > 1)
      parts.push_back(part);
  LinearLayout divided = *tile->type.layout;
  divided.shape.erase(divided.shape.begin() + axis);
  divided.shape.insert(divided.shape.begin() + axis, parts.begin(), parts.end());
  if (int(divided.shape.size()) > max_rank)
    return;

  Builder builder = Builder::before(fn, reduce);
  builder.set_location(reduce->location);
  Type type = Type::tile(tile->type.elem, divided.shape).with_layout(divided);
  Value *value = builder.create(Opcode::reshape_, {tile}, {type})->result();
  if (high > 1) // registers, so that lanes exchange fewer values
    value = reduced(builder, value, axis, *reduce);
  if (low > 1)
    value = reduced(builder, value, axis + 1, *reduce);
  type = value->type.with_layout(exchange_layout(
      value->type.shape, axis, reduce->result()->type.layout.get(), divided.warp.size()));
  reduce->operands[0] = builder.create(Opcode::convert_layout_, {value}, {type})->result();
}

} // namespace

void split_reductions(Function &fn) {
  std::vector<Op *> reductions, combinations;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::reduce_))
      reductions.push_back(&op);
    else if (op.operands.size() == 2)
      combinations.push_back(&op);
  });
  for (Op *op : combinations)
    merge(fn, op);
  for (Op *op : reductions)
    split(fn, op);
}

} // namespace tritonc
