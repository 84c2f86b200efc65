// store_split_k_partials: divides the K loop among blocks, which store partials in a workspace.
//
//     launch_blocks %bx, %by, %bz              launch_blocks %bx, %by, %bz * %parts
//     %z = block_id {axis = 2}                 %id = block_id {axis = 2}
//     for_loop %n, %zero {                     %s = %id / %bz
//       (%t, %acc)                             %z = %id rem %bz
//       %a = tma_load %m, ..., %t * 64         for_loop %part, %zero {
//       ...                                      (%t, %acc)
//       yield %d                          =>     %u = %t + %s * %part
//     }                                          %a = tma_load %m, ..., %u * 64
//     store %v, %sum                             ...
//                                              }
//                                              %w = view workspace of part %s
//                                              store %w, %sum
//
// A matmul with few rows and columns but a very long K keeps few SMs busy even with
// split_k_in_cluster, because the size of a cluster is limited. Through a workspace, any number of
// blocks can share a K loop.
//
// Method:  A second launch with small blocks (reduce_split_k_partials) adds the partials, always in
//          the same order, and runs what follows the mainloop.
//
//          All partials have the same number of K iterations. The last one may reach past the end
//          of K. There TMA reads zeros, because these coordinates are outside of the tensor map.
// Needs:   coarsen_programs, lower_to_tma; can_split_k. The grid is still that of programs.
// Ensures: after the mainloop, a block only stores its partial.
// Limits:  nothing happens unless schedule.work is partials, of split-K. can_split_k requires an
//          f32 or i32 accumulator that starts from zero, a loop that carries nothing else, whose
//          iterations the host can compute, and no side effects before the end of that loop.
//
// Tested by tests/unit/passes/store_split_k_partials/ and store_split_k_partials_test.cpp.

#include "passes/store_split_k_partials.h"

#include "analysis/launch_config.h"
#include "analysis/matmul_loop.h"
#include "passes/split_k_in_cluster.h"
#include "passes/split_k_workspace.h"

#include <algorithm>
#include <cassert>

namespace tritonc {

using namespace ir;

bool can_split_k(Function &fn) {
  MatmulLoop matmul = *find_matmul_loop(fn).found;
  const Op *loop = matmul.loop;
  Elem elem = matmul.dot->result()->type.elem;
  bool adds_up = (elem == Elem::f32 || elem == Elem::i32) && loop->parent == fn.body &&
                 is_zero(loop->operand(1 + matmul.carried)) && loop->results.size() == 1 &&
                 host_expression(loop->operand(0));
  // Both launches run everything before the end of the mainloop.
  size_t after_loop = fn.body->position_of(loop) + 1;
  auto is_done_twice = [&](const Op &op) {
    Effect effect = info(op.code).effect;
    return effect == Effect::write || effect == Effect::io;
  };
  for (size_t i = 0; adds_up && i < after_loop; i++) {
    adds_up &= !is_done_twice(*fn.body->ops[i]);
    for (Block *block : fn.body->ops[i]->blocks)
      for_each_op(*block, [&](const Op &op) { adds_up &= !is_done_twice(op); });
  }
  return adds_up;
}

namespace {

struct State {
  Function &fn;
  const SplitKPartials &split_k;
  bool swapped;
  MatmulLoop matmul = *find_matmul_loop(fn).found;

  // The block_id along `axis`; null if there is none.
  Value *block_id(size_t axis) {
    for (Op *op : fn.body->ops)
      if (op->is(Opcode::block_id_) && op->get(attr::axis_) == int64_t(axis))
        return op->result();
    return nullptr;
  }

  Value *make_block_id(Builder &builder, size_t axis) {
    Op *id = builder.create(Opcode::block_id_, {}, {Type::scalar(Elem::i32)});
    id->set(attr::axis_, int64_t(axis));
    return id->result();
  }

  // Erases the launch_blocks and returns its operands. Along the last axis, the blocks of one
  // partial follow those of the previous one. Sets the block's tile `ids` and its partial `part`.
  std::vector<Value *> divide_blocks(Value *ids[3], Value *&part) {
    auto found = std::find_if(fn.body->ops.begin(), fn.body->ops.end(),
                              [](const Op *op) { return op->is(Opcode::launch_blocks_); });
    assert(found != fn.body->ops.end() && "coarsen_programs has made it");
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
    Op *loop = matmul.loop;
    Value *own = loop->results[matmul.carried];
    Builder builder = Builder::before(fn, loop);
    builder.set_location(loop->location);
    SplitKWorkspace parts =
        emit_split_k_workspace(builder, split_k, loop->operand(0), own->type.elem);
    blocks[2] = builder.mul(blocks[2], parts.count_on_host);
    builder.create(Opcode::launch_blocks_, blocks);
    take_part_of_steps(fn, loop, builder.mul(part, parts.steps), parts.steps);

    size_t after_loop = fn.body->position_of(loop) + 1;
    while (fn.body->ops.size() > after_loop + 1) // return stays
      erase(fn.body->ops[fn.body->ops.size() - 2]);
    Builder store(fn, fn.body, after_loop);
    store.set_location(loop->location);
    Poly row = Poly::symbol(ids[split_k.rows_axis]) * Poly::constant(split_k.rows);
    Poly column = Poly::symbol(ids[split_k.columns_axis]) * Poly::constant(split_k.columns);
    Poly matrix = Poly::symbol(ids[split_k.third_axis()]);
    if (swapped) // the loop computes the transpose
      own = store.trans(own, {1, 0});
    store.store(
        emit_view(store, parts, split_k, Poly::symbol(part), matrix, row, column, own->type), own);
  }
};

} // namespace

void store_split_k_partials(Function &fn, const Schedule &schedule) {
  if (schedule.work == Schedule::Work::partials && schedule.partials)
    State{fn, *schedule.partials, schedule.swap_operands}.run();
}

} // namespace tritonc
