// store_parts: let the blocks of a launch divide a sum, and leave their parts in memory.
//
//     launch_blocks %bx, %by, %bz              launch_blocks %bx, %by, %bz * %parts
//     %z = block_id {axis = 2}                 %id = block_id {axis = 2}
//     for_loop %n, %zero {                     %s = %id / %bz
//       (%t, %acc)                             %z = %id rem %bz
//       %a = map_load %m, ..., %t * 64         for_loop %part, %zero {
//       ...                                      (%t, %acc)
//       yield %d                          =>     %u = %t + %s * %part
//     }                                          %a = map_load %m, ..., %u * 64
//     store %v, %sum                             ...
//                                              }
//                                              %w = view scratch of part %s
//                                              store %w, %sum
//
// A product of few rows and columns but very many steps along K keeps few multiprocessors busy even
// if each cluster of blocks divides a sum (split_sums): only so many blocks are a cluster. Through
// memory any number of blocks can divide it. What they have is added, and what comes behind the
// loop is done, by a second launch of small blocks (add_parts), which is always the same order.
//
// Every part has as many steps. Those of the last that lie behind the end of K read zeros, since
// that is what lies outside of a tensor map.
//
// Needs:   bundle_programs, use_tensor_maps; can_divide_sums. The grid of programs is still known.
// Ensures: behind the loop, the part of the sum is stored, and nothing else is done.
//
// Tested by tests/passes/store_parts_test.cpp.

#include "passes/store_parts.h"

#include "analysis/launch_form.h"
#include "analysis/product_loop.h"
#include "passes/split_sums.h"
#include "passes/sum_parts.h"

#include <algorithm>
#include <cassert>

namespace tritonc {

using namespace ir;

bool can_divide_sums(Function &fn) {
  ProductLoop product = *find_product_loop(fn).found;
  const Op *loop = product.loop;
  Elem elem = product.dot->result()->type.elem;
  bool adds_up = (elem == Elem::f32 || elem == Elem::i32) && loop->parent == fn.body &&
                 is_zero(loop->operand(1 + product.carried)) && loop->results.size() == 1 &&
                 host_expression(loop->operand(0));
  // What comes before the sum is done in both launches.
  size_t behind = fn.body->position_of(loop) + 1;
  auto is_done_twice = [&](const Op &op) {
    Effect effect = info(op.code).effect;
    return effect == Effect::write || effect == Effect::report;
  };
  for (size_t i = 0; adds_up && i < behind; i++) {
    adds_up &= !is_done_twice(*fn.body->ops[i]);
    for (Block *block : fn.body->ops[i]->blocks)
      for_each_op(*block, [&](const Op &op) { adds_up &= !is_done_twice(op); });
  }
  return adds_up;
}

namespace {

struct State {
  Function &fn;
  const DividedSum &divided;
  bool swapped;
  ProductLoop product = *find_product_loop(fn).found;

  // The index, along an axis, of what a block does; null if nobody asks for it.
  Value *block_id(size_t axis) {
    for (Op *op : fn.body->ops)
      if (op->is(Opcode::block_id_) && op->integer("axis") == int64_t(axis))
        return op->result();
    return nullptr;
  }

  Value *make_block_id(Builder &builder, size_t axis) {
    Op *id = builder.create(Opcode::block_id_, {}, {Type::scalar(Elem::i32)});
    id->set("axis", int64_t(axis));
    return id->result();
  }

  // Takes the launch away; returns how many blocks it has. Behind the pieces of a part come those
  // of the next, along the last axis: gives which piece and which part a block has.
  std::vector<Value *> divide_blocks(Value *ids[3], Value *&part) {
    auto found = std::find_if(fn.body->ops.begin(), fn.body->ops.end(),
                              [](const Op *op) { return op->is(Opcode::launch_blocks_); });
    assert(found != fn.body->ops.end() && "bundle_programs has made it");
    Op *launch = *found;
    std::vector<Value *> blocks = launch->operands;
    Builder builder = Builder::before(fn, launch);
    builder.set_location(launch->location);
    for (size_t axis = 0; axis < 3; axis++) {
      ids[axis] = block_id(axis);
      if (!ids[axis])
        ids[axis] = make_block_id(builder, axis);
    }
    Value *id = ids[2];
    Value *last = builder.create(Opcode::host_value_, {blocks[2]}, {blocks[2]->type})->result();
    last->name = "matrices";
    part = builder.binary(Opcode::udiv_, id, last);
    ids[2] = builder.binary(Opcode::urem_, id, last);
    replace_uses(*fn.body, id, ids[2]);
    part->op->operands[0] = ids[2]->op->operands[0] = id;
    erase(launch);
    return blocks;
  }

  void run() {
    Value *ids[3], *part = nullptr;
    std::vector<Value *> blocks = divide_blocks(ids, part);
    Op *loop = product.loop;
    Value *own = loop->results[product.carried];
    Builder builder = Builder::before(fn, loop);
    builder.set_location(loop->location);
    SumParts parts = emit_sum_parts(builder, divided, loop->operand(0), own->type.elem);
    blocks[2] = builder.mul(blocks[2], parts.count_on_host);
    builder.create(Opcode::launch_blocks_, blocks);
    take_part_of_steps(fn, loop, builder.mul(part, parts.steps), parts.steps);

    size_t behind = fn.body->position_of(loop) + 1;
    while (fn.body->ops.size() > behind + 1) // return stays
      erase(fn.body->ops[fn.body->ops.size() - 2]);
    Builder store(fn, fn.body, behind);
    store.set_location(loop->location);
    Poly row = Poly::symbol(ids[divided.rows_axis]) * Poly::constant(divided.rows);
    Poly column = Poly::symbol(ids[divided.columns_axis]) * Poly::constant(divided.columns);
    Poly matrix = Poly::symbol(ids[divided.third_axis()]);
    if (swapped) // the loop has the transpose
      own = store.trans(own, {1, 0});
    store.store(
        emit_view(store, parts, divided, Poly::symbol(part), matrix, row, column, own->type), own);
  }
};

} // namespace

void store_parts(Function &fn, const Structure &structure) {
  if (structure.share == Structure::Share::parts)
    State{fn, *structure.divided, structure.swapped}.run();
}

} // namespace tritonc
