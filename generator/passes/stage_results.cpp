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
// is on its way the next is written to the other slot, and after the last the warps go on: nobody
// waits for a store to land. Only at the end of the block the last ones must have been read. What
// the barriers are for: the first, that the thread which stores has seen a slot read before others
// write it; the second, that all have written.
//
// Needs:   specialize_warps; map_store only of tiles of the product's shape.
// Ensures: no map_store is left.
//
// Tested by tests/passes/stage_results_test.cpp.

#include "passes/stage_results.h"

#include "analysis/launch_form.h"
#include "analysis/layouts.h"
#include "ir/builder.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// The division of the product, which every tile of its shape can have.
std::vector<int64_t> warpgroups_of(Function &fn) {
  std::vector<int64_t> warpgroups;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::shared_product_))
      warpgroups = op.list("warpgroups");
  });
  return warpgroups;
}

void stage(Function &fn, Op *store, const std::vector<int64_t> &warpgroups) {
  Value *map = store->operand(0), *tile = store->operand(1);
  int contiguous = copy_order(*map->op)[0], bytes = bytes_of(tile->type.elem);
  Shape piece = tile->type.shape;
  piece[size_t(contiguous)] = map->type.shape[size_t(contiguous)];

  // A tile of one piece comes back to the same slot: the next time, it must have been read.
  int64_t pieces = tile->type.shape[size_t(contiguous)] / piece[size_t(contiguous)];
  int64_t slots = std::min<int64_t>(pieces, 2);
  Builder builder = Builder::before(fn, store);
  builder.set_location(store->location);
  Shape ring = piece;
  ring.insert(ring.begin(), slots);
  Op *parting = store;
  while (parting->parent != fn.body)
    parting = parting->parent->parent;
  Builder outside = Builder::before(fn, parting);
  Type type =
      Type::shared(tile->type.elem, ring).with_layout(panel_layout(piece, contiguous, bytes));
  Value *buffer = outside.create(Opcode::shared_alloc_, {}, {type})->result();
  buffer->name = map->name;

  for (int64_t i = 0; i < pieces; i++) {
    builder.create(Opcode::copy_out_wait_, {})->set("pending", slots - 1);
    builder.create(Opcode::barrier_, {});
    std::vector<int64_t> origin(piece.size(), 0);
    origin[size_t(contiguous)] = i * piece[size_t(contiguous)];
    Op *part = builder.create(Opcode::extract_, {tile}, {tile->type.with_shape(piece)});
    part->set("origin", origin);
    part->set("warpgroups", warpgroups);
    Value *slot = builder.i32(i % slots);
    builder.create(Opcode::shared_store_, {part->result(), buffer, slot});
    builder.create(Opcode::proxy_fence_, {});
    builder.create(Opcode::barrier_, {});
    std::vector<Value *> operands = {map, buffer, slot};
    for (size_t d = 0; d < piece.size(); d++)
      operands.push_back(builder.add(store->operand(2 + d), builder.i32(origin[d])));
    builder.create(Opcode::map_copy_out_, operands);
  }
  erase(store);
}

} // namespace

void stage_results(Function &fn) {
  std::vector<Op *> stores;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::map_store_))
      stores.push_back(&op);
  });
  for (Op *store : stores)
    stage(fn, store, warpgroups_of(fn));
  if (stores.empty())
    return;
  // Shared memory is gone when the block ends.
  for (Op *op : fn.body->ops)
    if (op->is(Opcode::specialize_)) {
      Builder builder = Builder::before(fn, op->blocks[0]->terminator());
      builder.create(Opcode::copy_out_wait_, {})->set("pending", int64_t(0));
    }
}

} // namespace tritonc
