// stage_results: bring what tensor maps store through shared memory, piece by piece.
//
//     map_store %m, %x, %i, %j       %s = shared_alloc : shared<f16>[2,128,64]
//                                    copy_out_wait {pending = 1}         for each piece of %x:
//                                    barrier
//                               =>   %p = extract %x {origin = [0,0]} : f16[128,64]
//                                    shared_store %p, %s, slot 0
//                                    proxy_fence
//                                    barrier
//                                    map_copy_out %m, %s, slot 0, %i, %j
//                                    ...                                 slot 1, and so on in turn
//
// A piece is a panel of the staging buffer: rows of at most 128 bytes, the length that the copy
// engine's swizzle has, so that no two threads that write at a time meet in a bank. While one piece
// is on its way the next is written to the other slot (if structure.staged_pieces gives it two),
// and after the last the warps go on: nobody waits for a store to land. Only at the end of the
// block the last ones must have been read. The buffer is the multiplying warps' own: each team of
// them has one. What the barriers are for: the first, that the thread
// which stores has seen a slot read before others write it; the second, that all have written.
//
// A warp holds whole columns of the product, as far as its pieces go, but only some of its rows. So
// where the product's transpose is stored (swap_factors), pieces are some rows of the result, and
// as many panels as these are long.
//
// What threads store is cut into such pieces too: on its way from the layout of a product to that
// of memory it needs a place in shared memory, and the ring has left no more than a piece's.
//
//     %h = cast %x                    %p = extract %x {origin = [0,0]}      for each piece of %x:
//     store %v, %h, %mask       =>    %h = cast %p
//                                     %on = inside %rows, %columns
//                                     store part of %v, %h, %on
//
// Sums are converted piece by piece, right where they are stored. Masked stores are branches, and
// if ptxas finds the conversion of a sum on the other side of one it takes it for a use of the sum
// while the tensor cores still add to it: then it waits after every wgmma (C7514). And masks
// compare constants with how much of the tile is left: formulas of the index, which are the same in
// each program, would be computed ahead of all and take the registers that the sums need.
//
// What the blocks of a cluster have added goes to memory as it lies.
//
// Needs:   specialize_warps; map_store only of tiles of the product's shape.
// Ensures: no map_store is left.
// Limits:  stores through pointers that are no view, and with masks that are no bounds, stay whole.
//
// Tested by tests/passes/stage_results_test.cpp.

#include "passes/stage_results.h"

#include "analysis/launch_form.h"
#include "analysis/layouts.h"
#include "analysis/product_loop.h"
#include "analysis/tensor_access.h"
#include "ir/builder.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// The first element of each piece of `tile`, cut along `axis`.
std::vector<std::vector<int64_t>> origins(const Shape &tile, const Shape &piece, int axis) {
  std::vector<std::vector<int64_t>> result;
  for (int64_t at = 0; at < tile[size_t(axis)]; at += piece[size_t(axis)]) {
    result.emplace_back(tile.size(), 0);
    result.back()[size_t(axis)] = at;
  }
  return result;
}

// The product that results are made of.
struct Product {
  const Op *op;     // shared_product, fragment_product or dot
  const Value *sum; // of a dot; else it is what a product_wait gives

  const Shape &shape() const { return op->result()->type.shape; }
  std::optional<int> axis_of_columns(const Value *result) const {
    return tritonc::axis_of_columns(result, shape(), sum);
  }
};

// What the loop around `dot` gives of it.
const Value *sum_behind_loop(const Op &dot) {
  const std::vector<Value *> &next = dot.parent->terminator()->operands;
  auto carried = std::find(next.begin(), next.end(), dot.result());
  return dot.parent->parent->results[size_t(carried - next.begin())];
}

// What is only converted before it is stored is converted piece by piece.
Value *extract(Builder &builder, Value *tile, const Shape &piece, std::vector<int64_t> origin,
               const Product &product) {
  if (tile->op && tile->op->is(Opcode::cast_)) {
    Value *part = extract(builder, tile->op->operand(0), piece, std::move(origin), product);
    return builder.cast(part, tile->type.elem, tile->op->has("unsigned"));
  }
  Op *part = builder.create(Opcode::extract_, {tile}, {tile->type.with_shape(piece)});
  part->set("origin", std::move(origin));
  share_like(*part, *product.op);
  if (product.axis_of_columns(tile) == 0)
    part->set("perm", std::vector<int64_t>{1, 0});
  return part->result();
}

void stage(Function &fn, Op *store, const Product &product, int64_t most_slots) {
  Value *map = store->operand(0), *tile = store->operand(1);
  int contiguous = copy_order(*map->op)[0], bytes = bytes_of(tile->type.elem);
  int axis = *product.axis_of_columns(tile);
  Shape piece = tile->type.shape;
  piece[size_t(axis)] = map->type.shape[size_t(axis)];

  // A tile of one piece comes back to the same slot: the next time, it must have been read.
  int64_t pieces = tile->type.shape[size_t(axis)] / piece[size_t(axis)];
  int64_t slots = std::min(pieces, most_slots);
  Shape ring = piece;
  ring.insert(ring.begin(), slots);
  const Block *own = store->parent; // the multiplying warps'
  while (own->parent && !own->parent->is(Opcode::specialize_))
    own = own->parent->parent;
  Builder outside = Builder::before(fn, own->ops.front());
  Type type =
      Type::shared(tile->type.elem, ring).with_layout(panel_layout(piece, contiguous, bytes));
  Value *buffer = outside.create(Opcode::shared_alloc_, {}, {type})->result();
  buffer->name = map->name;

  Builder builder = Builder::before(fn, store);
  builder.set_location(store->location);
  int64_t next = 0;
  for (const std::vector<int64_t> &origin : origins(tile->type.shape, piece, axis)) {
    builder.create(Opcode::copy_out_wait_, {})->set("pending", slots - 1);
    builder.create(Opcode::barrier_, {});
    Value *part = extract(builder, tile, piece, origin, product);
    Value *slot = builder.i32(next++ % slots);
    builder.create(Opcode::shared_store_, {part, buffer, slot});
    builder.create(Opcode::proxy_fence_, {});
    builder.create(Opcode::barrier_, {});
    std::vector<Value *> operands = {map, buffer, slot};
    for (size_t d = 0; d < piece.size(); d++)
      operands.push_back(builder.add(store->operand(2 + d), builder.i32(origin[d])));
    builder.create(Opcode::map_copy_out_, operands);
  }
  erase(store);
}

// A store by threads, piece by piece.
void cut(Function &fn, Op *store, const Product &product) {
  constexpr int64_t piece_bytes = 128;
  Value *view = store->operand(0), *tile = store->operand(1), *mask = store->operand_or_null(2);
  std::optional<int> columns = product.axis_of_columns(tile);
  if (!view->type.is_view() || !columns)
    return;
  int axis = *columns;
  Shape piece = tile->type.shape;
  int64_t &extent = piece[size_t(axis)];
  extent = std::min<int64_t>(extent, piece_bytes / bytes_of(tile->type.elem));
  std::optional<std::vector<Bound>> bounds = std::vector<Bound>();
  if (mask)
    bounds = bounds_of(mask, int(piece.size()));
  if (!bounds || (piece == tile->type.shape && !mask))
    return;

  Builder builder = Builder::before(fn, store);
  builder.set_location(store->location);
  for (const std::vector<int64_t> &origin : origins(tile->type.shape, piece, axis)) {
    std::vector<Value *> operands = view->op->operands;
    for (size_t d = 2; d < operands.size(); d++)
      if (!constant_of(operands[d]))
        operands[d] = builder.pinned(operands[d]);
    operands[1] = builder.add(
        operands[1], builder.mul(builder.i64(origin[size_t(axis)]), operands[size_t(2 + axis)]));
    Value *part_of_view =
        builder.create(Opcode::view_, operands, {view->type.with_shape(piece)})->result();
    std::vector<Bound> of_part = *bounds;
    for (Bound &bound : of_part)
      bound.before = bound.before + Poly::constant(origin[size_t(bound.axis)]);
    Value *on = nullptr;
    if (mask)
      on = builder.inside(emit_limits(builder, piece, of_part), piece);
    keep_hint(*builder.store(part_of_view, extract(builder, tile, piece, origin, product), on),
              *store);
  }
  erase(store);
}

} // namespace

void stage_results(Function &fn, const Structure &structure) {
  std::optional<Product> product;
  bool is_in_parts = false;
  std::vector<Op *> staged, stored;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::shared_product_) || op.is(Opcode::fragment_product_))
      product = {&op, nullptr};
    if (op.is(Opcode::dot_) && op.has("dealt"))
      product = {&op, sum_behind_loop(op)};
    is_in_parts |= op.is(Opcode::cluster_sum_);
    if (op.is(Opcode::map_store_))
      staged.push_back(&op);
    if (op.is(Opcode::store_))
      stored.push_back(&op);
  });
  if (!product || is_in_parts)
    return;
  for (Op *store : staged)
    stage(fn, store, *product, structure.staged_pieces);
  for (Op *store : stored)
    cut(fn, store, *product);
  if (staged.empty())
    return;
  // Shared memory is gone when the block ends.
  for (Op *op : fn.body->ops)
    if (op->is(Opcode::specialize_)) {
      Builder builder = Builder::before(fn, op->blocks[0]->terminator());
      builder.create(Opcode::copy_out_wait_, {})->set("pending", int64_t(0));
    }
}

} // namespace tritonc
