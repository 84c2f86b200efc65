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
//          A piece of a result is computed just before its store, from pieces of the tiles that the
//          result is computed from (tile_slices.h):
//
//            %d = load %v                       %d0 = load part of %v
//            %b = broadcast %bias               %d1 = load next part of %v
//            %y = add %x, %b                    %x0 = extract %x {origin = [0,0]}
//            %z = add %y, %d              =>    %b0 = broadcast part of %bias
//            store %w, %z                       %y0 = add %x0, %b0
//                                               %z0 = add %y0, extract %d0
//                                               store part of %w, %z0
//                                               ...
//
//          So one piece of each tile is in registers beside the accumulators. The loads of a piece
//          come before the arithmetic of the piece before it.
//
//          No arithmetic on accumulators is before a branch, such as a masked store, that their
//          store is after. ptxas would assume a use while the tensor cores still add to them, and
//          wait after every wgmma (C7514).
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
#include "passes/tile_slices.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

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

// The slices of the tile that `store` stores, cut along `axis` into pieces of the shape `piece`.
std::vector<Slice> slices_of(const Op &store, const Shape &piece, int axis, const Product &matmul,
                             const SlicedTiles &sliced) {
  // Accumulators, and loaded pieces, are needed in the layout of the accumulator.
  auto leaf = [&matmul, axis](Builder &builder, Value *tile, const Part &part) {
    Op *extracted = builder.create(Opcode::extract_, {tile}, {tile->type.with_shape(part.shape)});
    extracted->set(attr::origin_, part.origin);
    share_like(*extracted, *matmul.op);
    if (axis == 0)
      extracted->set(attr::perm_, std::vector<int64_t>{1, 0});
    return extracted->result();
  };
  const Shape &tile = store.operand(1)->type.shape;
  std::vector<Slice> result;
  for (int64_t at = 0; at < tile[size_t(axis)]; at += piece[size_t(axis)]) {
    Part part = {piece, std::vector<int64_t>(tile.size(), 0)};
    part.origin[size_t(axis)] = at;
    result.emplace_back(sliced, store, std::move(part), leaf);
  }
  return result;
}

void stage(Function &fn, Op *store, const Product &matmul, const SlicedTiles &sliced,
           int64_t max_stages) {
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
  std::vector<Slice> slices = slices_of(*store, piece, axis, matmul, sliced);
  slices[0].load(builder);
  for (size_t i = 0; i < slices.size(); i++) {
    if (i + 1 < slices.size())
      slices[i + 1].load(builder);
    builder.create(Opcode::tma_store_wait_, {})->set(attr::pending_, stages - 1);
    builder.create(Opcode::barrier_, {});
    Value *part = slices[i].compute(builder);
    Value *stage_index = builder.i32(int64_t(i) % stages);
    builder.create(Opcode::shared_store_, {part, buffer, stage_index});
    builder.create(Opcode::proxy_fence_, {});
    builder.create(Opcode::barrier_, {});
    std::vector<Value *> operands = {map, buffer, stage_index};
    const auto coordinates = store->operands.begin() + 2;
    operands.insert(operands.end(), coordinates, coordinates + outer);
    for (size_t d = 0; d < piece.size(); d++)
      operands.push_back(
          builder.add(coordinates[outer + ptrdiff_t(d)], builder.i32(slices[i].part().origin[d])));
    builder.create(Opcode::tma_store_async_, operands);
  }
  erase(store);
}

// The piece of a store by threads; empty: the store stays whole.
Shape piece_of(const Op &store, const Product &matmul) {
  constexpr int64_t piece_bytes = 128;
  const Type &tile = store.operand(1)->type;
  const Value *mask = store.operand_or_null(2);
  std::optional<int> columns = matmul.axis_of_columns(store.operand(1));
  if (!store.operand(0)->type.is_view() || !columns)
    return {};
  Shape piece = tile.shape;
  int64_t &extent = piece[size_t(*columns)];
  extent = std::min<int64_t>(extent, piece_bytes / bytes_of(tile.elem));
  bool is_cut = mask ? bounds_of(mask, tile.rank()).has_value() : piece != tile.shape;
  return is_cut ? piece : Shape();
}

// Cuts a store by threads into pieces.
void cut(Function &fn, Op *store, const Product &matmul, const SlicedTiles &sliced) {
  Value *view = store->operand(0), *mask = store->operand_or_null(2);
  const Shape piece = piece_of(*store, matmul);
  const int axis = *matmul.axis_of_columns(store->operand(1));
  Builder builder = Builder::before(fn, store);
  builder.set_location(store->location);
  std::vector<Slice> slices = slices_of(*store, piece, axis, matmul, sliced);
  slices[0].load(builder);
  for (size_t i = 0; i < slices.size(); i++) {
    if (i + 1 < slices.size())
      slices[i + 1].load(builder);
    const Part &part = slices[i].part();
    Value *part_of_memory = part_of_view(builder, *view, part);
    Value *on = mask ? part_of_bounds(builder, mask, part) : nullptr;
    keep_cache_hint(*builder.store(part_of_memory, slices[i].compute(builder), on), *store);
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
  std::erase_if(stored, [&](const Op *store) { return piece_of(*store, *matmul).empty(); });
  std::vector<Op *> all = staged;
  all.insert(all.end(), stored.begin(), stored.end());
  const SlicedTiles sliced(fn, all);
  for (Op *store : staged)
    stage(fn, store, *matmul, sliced, schedule.epilogue_stages);
  for (Op *store : stored)
    cut(fn, store, *matmul, sliced);
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
