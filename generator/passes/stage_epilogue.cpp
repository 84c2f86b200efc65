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
//          A tile loaded by TMA. The pieces of a tma_load come through the staging buffer, and the
//          pieces of the result take their places:
//
//            %d = tma_load %m               start the loads of pieces 0 and 1
//            the mainloop                   the mainloop
//            %y = add %x, %d          =>    for each piece (number n of channel %loaded):
//            tma_store %n, %y                 %k = get %loaded, n
//                                             %d0 = shared_load %s, %k
//                                             %y0 = add extract %x, %d0
//                                             shared_store %y0, %s, %k
//                                             proxy_fence
//                                             barrier
//                                             tma_store_async %n, %s, %k, %i, %j
//                                             tma_store_wait {pending = 0}
//                                             start the load of the piece after the next one
//
//          So the first pieces land during the mainloop. The thread that starts the copies waits
//          until TMA has read the stage; the others go on to the next piece. So the channel needs
//          no get_done: the warps that put are those that get, and know when a stage is empty.
//
//          No arithmetic on accumulators is before a branch, such as a masked store, that their
//          store is after. ptxas would assume a use while the tensor cores still add to them, and
//          wait after every wgmma (C7514).
//
//          Masks become in_bounds, which compares constants with the rest of the tile. Formulas of
//          the index are the same in every program. LLVM would compute them before the loop, in
//          registers that the accumulators need.
// Needs:   specialize_warps; tma_store only of tiles of the matmul's shape.
// Ensures: no tma_store is left, and no use of a tma_load.
// Limits:  nothing happens without a warp-specialized matmul, or with a cluster_reduce, whose
//          result is stored as it is. A store stays whole if its pointers or its mask are not
//          computed from indices, or if its tile does not have the matmul's shape.
//
// Tested by tests/unit/passes/stage_epilogue/ and stage_epilogue_test.cpp.

#include "passes/stage_epilogue.h"

#include "analysis/launch_config.h"
#include "analysis/layouts.h"
#include "analysis/matmul_loop.h"
#include "ir/builder.h"
#include "passes/tile_slices.h"

#include <algorithm>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

// A matmul from which output tiles are computed.
struct Product {
  const Op *op;             // wgmma_ss, wgmma_rs, wgmma_wait or dot
  const Value *accumulator; // of a dot; null = the result of a wgmma_wait

  const Shape &shape() const { return op->result()->type.shape; }
  std::optional<int> axis_of_columns(const Value *result) const {
    return tritonc::axis_of_columns(result, shape(), accumulator);
  }
};

// The wgmma_wait that `tile` is computed from, element by element; null: none.
const Op *wait_before(const Value *tile, std::set<const Value *> &seen) {
  const Op *op = tile->op;
  if (!op || !seen.insert(tile).second)
    return nullptr;
  if (op->is(Opcode::wgmma_wait_))
    return op;
  std::vector<const Value *> sources(op->operands.begin(), op->operands.end());
  if (op->is(Opcode::for_loop_))
    sources.push_back(op->blocks[0]->terminator()->operand(size_t(tile->index)));
  for (const Value *source : sources)
    if (element_count(source->type.shape) == element_count(tile->type.shape))
      if (const Op *found = wait_before(source, seen))
        return found;
  return nullptr;
}

// The matmul that `store` stores a result of, if it has another shape than the last one; otherwise
// `last`.
Product product_of(const Op &store, const Product &last) {
  std::set<const Value *> seen;
  const Op *wait = last.accumulator ? nullptr : wait_before(store.operand(1), seen);
  return wait && wait->result()->type.shape != last.shape() ? Product{wait, nullptr} : last;
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

// The tile loaded by TMA from which `tile` is computed element by element; null: none.
const Op *loaded_by_tma(const Value *tile, std::set<const Value *> &seen) {
  if (!tile->op || !seen.insert(tile).second)
    return nullptr;
  if (tile->op->is(Opcode::tma_load_))
    return tile->op;
  for (const Value *operand : tile->op->operands)
    if (operand->type.shape == tile->type.shape)
      if (const Op *found = loaded_by_tma(operand, seen))
        return found;
  return nullptr;
}

const Op *loaded_by_tma(const Value *tile) {
  std::set<const Value *> seen;
  return loaded_by_tma(tile, seen);
}

// A buffer for `stages` pieces of a tile, for the consumer warps.
Value *allocate_stages(Function &fn, const Op &store, Type piece, int contiguous, int64_t stages) {
  LinearLayout layout = panel_layout(piece.shape, contiguous, bytes_of(piece.elem));
  piece.shape.insert(piece.shape.begin(), stages);
  Type type = Type::shared(piece.elem, piece.shape).with_layout(std::move(layout));
  Builder builder = Builder::before(fn, partition_of(store)->block->ops.front());
  return builder.create(Opcode::shared_alloc_, {}, {type})->result();
}

// The coordinates of a part, from those of its tile. The first ones are of axes of the map only.
std::vector<Value *> coordinates_of(Builder &builder, std::vector<Value *> tile, const Part &part) {
  const size_t outer = tile.size() - part.origin.size();
  for (size_t d = 0; d < part.origin.size(); d++)
    tile[outer + d] = builder.add(tile[outer + d], builder.i32(part.origin[d]));
  return tile;
}

void wait_until_read(Builder &builder, int64_t pending) {
  builder.create(Opcode::tma_store_wait_, {})->set(attr::pending_, pending);
}

// A tile that TMA loads, and from which a stored tile is computed. Its pieces arrive in `buffer`.
struct LoadedTile {
  Function &fn;
  const Op &load; // tma_load
  Op *store;
  const std::vector<Slice> &slices; // of the stored tile
  Value *buffer;
  Value *loaded = nullptr; // the channel of the buffer

  int64_t stages() const { return buffer->type.shape[0]; }
  int64_t pieces() const { return int64_t(slices.size()); }

  // The number of the tile's first piece in the channel.
  Value *first_number(Builder &builder) const {
    const Block &block = *store->parent;
    Value *tiles_before = block.parent->is(Opcode::for_loop_) ? block.arguments[0] : builder.i32(0);
    return builder.mul(tiles_before, builder.i32(pieces()));
  }

  // `operands`: those of the tma_load.
  void start(Builder &builder, const std::vector<Value *> &operands, int64_t piece) {
    const Part &part = slices[size_t(piece)].part();
    Value *first = first_number(builder);
    Value *stage = builder.channel_op(Opcode::put_, loaded, first, piece);
    std::vector<Value *> all = {operands[0], buffer, stage, loaded, stage};
    std::vector<Value *> coordinates =
        coordinates_of(builder, {operands.begin() + 1, operands.end()}, part);
    all.insert(all.end(), coordinates.begin(), coordinates.end());
    keep_cache_hint(*builder.create(Opcode::tma_load_async_, all), load);
    builder.channel_op(Opcode::put_done_, loaded, first, piece);
  }

  // Starts to load the first pieces: before the mainloop, unless the coordinates are not known
  // there.
  void start_first(const Product &matmul) {
    loaded = Builder::after(fn, buffer->op)
                 .create(Opcode::channel_, {buffer}, {Type::channel(stages())})
                 ->result();
    loaded->name = "loaded";

    Block &block = *store->parent;
    Op *mainloop = const_cast<Op *>(matmul.op);
    while (mainloop->parent != &block)
      mainloop = mainloop->parent->parent;
    Copies copies;
    for (Value *argument : block.arguments)
      copies[argument] = argument;
    const std::set<const Value *> given(block.arguments.begin(), block.arguments.end());
    std::vector<Value *> operands = load.operands;
    bool is_early = std::all_of(operands.begin(), operands.end(), [&](const Value *operand) {
      return can_clone(operand, &block, given);
    });
    Builder builder = Builder::before(fn, is_early ? mainloop : store);
    builder.set_location(load.location);
    for (Value *&operand : operands)
      if (is_early)
        operand = clone_computation(builder, operand, &block, copies);
    wait_until_read(builder, 0);
    for (int64_t piece = 0; piece < stages(); piece++)
      start(builder, operands, piece);
  }

  void start_next(Builder &builder, int64_t piece) {
    if (piece + stages() < pieces())
      start(builder, load.operands, piece + stages());
  }

  // Waits until the piece has landed. Returns the index of its stage.
  Value *get(Builder &builder, int64_t piece) const {
    return builder.channel_op(Opcode::get_, loaded, first_number(builder), piece);
  }

  Value *piece(Builder &builder, int64_t piece, Value *stage) const {
    const Shape &shape = slices[size_t(piece)].part().shape;
    Op *read = builder.create(Opcode::shared_load_, {buffer, stage},
                              {load.result()->type.with_shape(shape)});
    read->set(attr::origin_, std::vector<int64_t>(shape.size(), 0));
    read->set(attr::perm_, std::vector<int64_t>{0, 1});
    return read->result();
  }
};

// Replaces a tma_store. A loaded tile shares its buffer: a piece of the result takes the place of
// the loaded piece.
void stage(Function &fn, Op *store, const Product &matmul, const SlicedTiles &sliced,
           int64_t max_stages) {
  Value *map = store->operand(0), *tile = store->operand(1);
  int axis = *matmul.axis_of_columns(tile);
  Type piece = tile->type;
  piece.shape[size_t(axis)] =
      map->type.shape[size_t(map->type.rank() - tile->type.rank() + axis)]; // maps have more axes
  std::vector<Slice> slices = slices_of(*store, piece.shape, axis, matmul, sliced);

  // A tile of one piece needs one stage: TMA must have read it before the next tile is written.
  const auto pieces = int64_t(slices.size()), stages = std::min(pieces, max_stages);
  int contiguous = contiguous_tile_axis(*map->op, tile->type.rank());
  Value *buffer = allocate_stages(fn, *store, piece, contiguous, stages);
  buffer->name = map->name;
  std::optional<LoadedTile> loaded;
  if (const Op *load = loaded_by_tma(tile)) {
    loaded.emplace(LoadedTile{fn, *load, store, slices, buffer});
    loaded->start_first(matmul);
  }

  Builder builder = Builder::before(fn, store);
  builder.set_location(store->location);
  slices[0].load(builder);
  for (int64_t i = 0; i < pieces; i++) {
    Slice &slice = slices[size_t(i)];
    if (i + 1 < pieces)
      slices[size_t(i + 1)].load(builder);
    Value *stage_index = loaded ? loaded->get(builder, i) : nullptr;
    if (loaded) {
      slice.set(builder, *loaded->load.result(), loaded->piece(builder, i, stage_index));
    } else {
      wait_until_read(builder, stages - 1);
      builder.create(Opcode::barrier_, {});
    }
    Value *part = slice.compute(builder);
    if (!loaded)
      stage_index = builder.i32(i % stages);
    builder.create(Opcode::shared_store_, {part, buffer, stage_index});
    builder.create(Opcode::proxy_fence_, {});
    builder.create(Opcode::barrier_, {});
    std::vector<Value *> operands = {map, buffer, stage_index};
    std::vector<Value *> coordinates =
        coordinates_of(builder, {store->operands.begin() + 2, store->operands.end()}, slice.part());
    operands.insert(operands.end(), coordinates.begin(), coordinates.end());
    builder.create(Opcode::tma_store_async_, operands);
    if (loaded && i + stages < pieces) {
      wait_until_read(builder, 0);
      loaded->start_next(builder, i);
    }
  }
  erase(store);
}

// Cuts a store by threads into pieces.
void cut(Function &fn, Op *store, const Product &matmul, const SlicedTiles &sliced) {
  Value *pointers = store->operand(0), *mask = store->operand_or_null(2);
  const int axis = *matmul.axis_of_columns(store->operand(1));
  const Shape piece = piece_of_store(*store, axis);
  Builder builder = Builder::before(fn, store);
  builder.set_location(store->location);
  std::vector<Slice> slices = slices_of(*store, piece, axis, matmul, sliced);
  IndexParts parts;
  slices[0].load(builder);
  for (size_t i = 0; i < slices.size(); i++) {
    if (i + 1 < slices.size())
      slices[i + 1].load(builder);
    const Part &part = slices[i].part();
    Value *part_of_memory = pointers->type.is_view() ? part_of_view(builder, *pointers, part)
                                                     : parts.of(builder, pointers, part);
    Value *on = mask ? part_of_bounds(builder, mask, part) : nullptr;
    if (mask && !on)
      on = parts.of(builder, mask, part);
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
  std::erase_if(stored, [&](const Op *store) {
    std::optional<int> columns = product_of(*store, *matmul).axis_of_columns(store->operand(1));
    return !columns || piece_of_store(*store, *columns).empty();
  });
  std::vector<Op *> all = staged;
  all.insert(all.end(), stored.begin(), stored.end());
  const SlicedTiles sliced(fn, all);
  for (Op *store : staged)
    stage(fn, store, product_of(*store, *matmul), sliced, schedule.epilogue_stages);
  for (Op *store : stored)
    cut(fn, store, product_of(*store, *matmul), sliced);
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
