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
// Method:  assign_layouts converts the operand of a reduction to a layout in which a warp holds the
//          whole axis. From the layout before the conversion, the pass finds the index bits that
//          select the warp. It divides the axis at these bits and reduces the other parts first.
//          The original reduction remains for the values of the warps: each thread reads those that
//          it needs, and combines them in the order of the index.
// Needs:   assign_layouts.
// Ensures: nothing that later passes need.
// Limits:  these index bits must be adjacent, each basis of the warp must be one bit, and the
//          divided tile must not have too many axes. Otherwise the tile is converted as a whole, as
//          it is for another use.
//
// Tested by tests/unit/passes/split_reductions/.

#include "passes/split_reductions.h"

#include "ir/builder.h"

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
  std::vector<Op *> reductions;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::reduce_))
      reductions.push_back(&op);
  });
  for (Op *op : reductions)
    split(fn, op);
}

} // namespace tritonc
