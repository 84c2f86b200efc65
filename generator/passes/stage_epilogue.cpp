// stage_epilogue: sends output tiles through shared memory, piece by piece.
//
//     tma_store %m, %x, %i, %j       %s = shared_alloc : shared<f16>[2,128,64]
//
//                                    for each piece of %x (stage 0, 1, 0, ...):
//                               =>     tma_store_wait {pending = 1}
//                                      barrier
//                                      %p = extract %x {origin = [0,0]} : f16[128,64]
//                                      shared_store %p, %s, stage
//                                      proxy_fence
//                                      barrier
//                                      tma_store_async %m, %s, stage, %i, %j
//
//     %h = cast %x                   for each piece of %x:
//     store %v, %h, %mask              %p = extract %x {origin = [0,0]}
//                               =>     %h = cast %p
//                                      %on = in_bounds %rows, %columns
//                                      store part of %v, %h, %on
//
// TMA stores from shared memory. The circular buffer leaves room for only a few pieces of a tile.
// While TMA stores one piece, the warps write the next one to the other stage.
//
// Method:  A piece is a panel of the staging buffer: rows of at most 128 bytes, the length of TMA's
//          swizzle, so writing it has no bank conflicts. The number of stages is
//          schedule.epilogue_stages, or the number of pieces if that is smaller.
//
//          The first barrier: the thread that starts the copies has seen that TMA has read the
//          stage, so other threads may write it. The second barrier: all threads have written. No
//          thread waits for a store to complete; only the end of the block waits until TMA has read
//          the last pieces. The buffer belongs to the consumer warps: with ping-pong each consumer
//          group has its own.
//
//          Each warp holds only some rows of the accumulator, but all of its columns that are in a
//          piece. So pieces are cut along its columns. With swap_operands these are rows of the
//          result, and a piece has as many panels as its rows need.
//
//          Stores by threads are cut into such pieces, too. The conversion from the accumulator's
//          layout to that of memory needs shared memory, and only a piece fits.
//
//          Accumulators are converted piece by piece, just before the store. Masked stores are
//          branches. If ptxas finds the conversion of an accumulator on the other side of a branch,
//          it assumes a use while the tensor cores still add to it. Then it waits after every wgmma
//          (C7514).
//
//          Masks become in_bounds, which compares constants with the rest of the tile. Formulas of
//          the index are the same in every program. LLVM would compute them before the loop, in
//          registers that the accumulators need.
// Needs:   specialize_warps; tma_store only of tiles of the matmul's shape.
// Ensures: no tma_store is left.
// Limits:  nothing happens without a warp-specialized matmul, or with a cluster_reduce, whose
//          result is stored as it is. A store stays whole if its pointers are not a view, if its
//          mask is not made of bounds, or if its tile does not have the matmul's shape.
//
// Tested by tests/unit/passes/stage_epilogue/ and stage_epilogue_test.cpp.

#include "passes/stage_epilogue.h"

#include "analysis/launch_config.h"
#include "analysis/layouts.h"
#include "analysis/matmul_loop.h"
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

// The matmul from which the output tiles are computed.
struct Product {
  const Op *op;             // wgmma_ss, wgmma_rs or dot
  const Value *accumulator; // of a dot; null = the result of a wgmma_wait

  const Shape &shape() const { return op->result()->type.shape; }
  std::optional<int> axis_of_columns(const Value *result) const {
    return tritonc::axis_of_columns(result, shape(), accumulator);
  }
};

// The accumulator of `dot` after the loop around it.
const Value *accumulator_after_loop(const Op &dot) {
  const std::vector<Value *> &next = dot.parent->terminator()->operands;
  auto carried = std::find(next.begin(), next.end(), dot.result());
  return dot.parent->parent->results[size_t(carried - next.begin())];
}

// The piece of `tile` at `origin`. If `tile` is a cast, the piece of its operand, converted.
Value *extract(Builder &builder, Value *tile, const Shape &piece, std::vector<int64_t> origin,
               const Product &matmul) {
  if (tile->op && tile->op->is(Opcode::cast_)) {
    Value *part = extract(builder, tile->op->operand(0), piece, std::move(origin), matmul);
    return builder.cast(part, tile->type.elem, tile->op->has(attr::unsigned_));
  }
  Op *part = builder.create(Opcode::extract_, {tile}, {tile->type.with_shape(piece)});
  part->set(attr::origin_, std::move(origin));
  share_like(*part, *matmul.op);
  if (matmul.axis_of_columns(tile) == 0)
    part->set(attr::perm_, std::vector<int64_t>{1, 0});
  return part->result();
}

void stage(Function &fn, Op *store, const Product &matmul, int64_t max_stages) {
  Value *map = store->operand(0), *tile = store->operand(1);
  const int outer = map->type.rank() - tile->type.rank(); // axes of the map only
  int contiguous = contiguous_tile_axis(*map->op, tile->type.rank());
  int bytes = bytes_of(tile->type.elem);
  int axis = *matmul.axis_of_columns(tile);
  Shape piece = tile->type.shape;
  piece[size_t(axis)] = map->type.shape[size_t(outer + axis)];

  // A tile of one piece needs one stage: TMA must have read it before the next tile is written.
  int64_t pieces = tile->type.shape[size_t(axis)] / piece[size_t(axis)];
  int64_t stages = std::min(pieces, max_stages);
  Shape buffer_shape = piece;
  buffer_shape.insert(buffer_shape.begin(), stages);
  const Block *own = store->parent; // that of the consumer warps
  while (own->parent && !own->parent->is(Opcode::warp_specialize_))
    own = own->parent->parent;
  Builder outside = Builder::before(fn, own->ops.front());
  Type type = Type::shared(tile->type.elem, buffer_shape)
                  .with_layout(panel_layout(piece, contiguous, bytes));
  Value *buffer = outside.create(Opcode::shared_alloc_, {}, {type})->result();
  buffer->name = map->name;

  Builder builder = Builder::before(fn, store);
  builder.set_location(store->location);
  int64_t next = 0;
  for (const std::vector<int64_t> &origin : origins(tile->type.shape, piece, axis)) {
    builder.create(Opcode::tma_store_wait_, {})->set(attr::pending_, stages - 1);
    builder.create(Opcode::barrier_, {});
    Value *part = extract(builder, tile, piece, origin, matmul);
    Value *stage_index = builder.i32(next++ % stages);
    builder.create(Opcode::shared_store_, {part, buffer, stage_index});
    builder.create(Opcode::proxy_fence_, {});
    builder.create(Opcode::barrier_, {});
    std::vector<Value *> operands = {map, buffer, stage_index};
    const auto coordinates = store->operands.begin() + 2;
    operands.insert(operands.end(), coordinates, coordinates + outer);
    for (size_t d = 0; d < piece.size(); d++)
      operands.push_back(builder.add(coordinates[outer + ptrdiff_t(d)], builder.i32(origin[d])));
    builder.create(Opcode::tma_store_async_, operands);
  }
  erase(store);
}

// Cuts a store by threads into pieces.
void cut(Function &fn, Op *store, const Product &matmul) {
  constexpr int64_t piece_bytes = 128;
  Value *view = store->operand(0), *tile = store->operand(1), *mask = store->operand_or_null(2);
  std::optional<int> columns = matmul.axis_of_columns(tile);
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
        operands[d] = builder.no_hoist(operands[d]);
    operands[1] = builder.add(
        operands[1], builder.mul(builder.i64(origin[size_t(axis)]), operands[size_t(2 + axis)]));
    Value *part_of_view =
        builder.create(Opcode::view_, operands, {view->type.with_shape(piece)})->result();
    std::vector<Bound> of_part = *bounds;
    for (Bound &bound : of_part)
      bound.before = bound.before + Poly::constant(origin[size_t(bound.axis)]);
    Value *on = nullptr;
    if (mask)
      on = builder.in_bounds(emit_limits(builder, piece, of_part), piece);
    keep_cache_hint(*builder.store(part_of_view, extract(builder, tile, piece, origin, matmul), on),
                    *store);
  }
  erase(store);
}

} // namespace

void stage_epilogue(Function &fn, const Schedule &schedule) {
  std::optional<Product> matmul;
  bool is_in_parts = false;
  std::vector<Op *> staged, stored;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::wgmma_ss_) || op.is(Opcode::wgmma_rs_))
      matmul = {&op, nullptr};
    if (op.is(Opcode::dot_) && op.has(attr::interleaved_))
      matmul = {&op, accumulator_after_loop(op)};
    is_in_parts |= op.is(Opcode::cluster_reduce_);
    if (op.is(Opcode::tma_store_))
      staged.push_back(&op);
    if (op.is(Opcode::store_))
      stored.push_back(&op);
  });
  if (!matmul || is_in_parts)
    return;
  for (Op *store : staged)
    stage(fn, store, *matmul, schedule.epilogue_stages);
  for (Op *store : stored)
    cut(fn, store, *matmul);
  if (staged.empty())
    return;
  // TMA must have read the pieces before the block ends and its shared memory is freed.
  for (Op *op : fn.body->ops)
    if (op->is(Opcode::warp_specialize_)) {
      Builder builder = Builder::before(fn, op->blocks[0]->terminator());
      builder.create(Opcode::tma_store_wait_, {})->set(attr::pending_, int64_t(0));
    }
}

} // namespace tritonc
