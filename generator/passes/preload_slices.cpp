// preload_slices: load the first slice of a loop's next step during the last slice of the present.
//
//                                                async_wait {pending = 1}
//                                                %a = shared_load %s, 0 {origin = [0,0]}
//     for_loop %n, %c {                          for_loop %n, %c, %a {
//       (%t, %acc)                                 (%t, %acc, %a0)
//       async_wait {pending = 1}                   async_copy ..., slot t+2
//       async_copy ..., slot t+2                   %a1 = shared_load %s, t {origin = [0,16]}
//       %a0 = shared_load %s, t {origin = [0,0]}   %d0 = dot %a0, ..., %acc
//       %a1 = shared_load %s, t {origin = [0,16]}  async_wait {pending = 1}
//       %d0 = dot %a0, ..., %acc              =>   %a2 = shared_load %s, t+1 {origin = [0,0]}
//       %d1 = dot %a1, ..., %d0                    %d1 = dot %a1, ..., %d0
//       yield %d1                                  yield %d1, %a2
//     }                                          }
//
// (the other factor likewise). slice_dots loads each slice ahead of its use, but the first one of a
// step has nothing before it: all threads wait, for each other at the barrier and then for shared
// memory, and the arithmetic with them. Behind this pass the barrier and the first loads have the
// last slice's arithmetic after them, which hides both. It takes no more registers: the fragments
// of two slices are alive as before.
//
// The loop after the last one loads zeros, which is what the copies of iterations that don't exist
// write.
//
// Needs:   pipeline_loops, whose ring and wait it moves; slice_dots.
// Ensures: each slot is read behind the wait that covers its copy, and copies go to the slot that
//          was read in the iteration before (insert_barriers sees to the threads' order).
// Limits:  all dots of the loop are one chain of at least two; the first one's factors are loaded
//          for it alone; one wait, directly in the loop.
//
// Tested by tests/passes/preload_slices_test.cpp.

#include "passes/preload_slices.h"

#include "ir/builder.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

struct State {
  Function &fn;
  Op &loop;
  Op *wait = nullptr;
  std::vector<Op *> dots = {};

  Block &body() { return *loop.blocks[0]; }

  // One wait, and a chain of dots: anything else is not what slice_dots leaves of one product.
  bool find_operations() {
    for (Op *op : body().ops) {
      if (!op->blocks.empty() || (op->is(Opcode::async_wait_) && wait))
        return false;
      if (op->is(Opcode::async_wait_))
        wait = op;
      if (!op->is(Opcode::dot_))
        continue;
      if (!dots.empty() && op->operand(2) != dots.back()->result())
        return false;
      dots.push_back(op);
    }
    return wait && dots.size() >= 2;
  }

  // A slice of what the present iteration's slot of a ring holds, loaded for the first dot.
  bool can_preload(const Value *factor) {
    const Op *load = factor->op;
    if (!load || !load->is(Opcode::shared_load_) || load->parent != &body() ||
        count_uses(*fn.body, factor) != 1)
      return false;
    const Op *slot = load->operand(1)->op;
    return slot && slot->is(Opcode::ring_slot_) && slot->operand(0) == body().arguments[0] &&
           slot->integer("ahead") == 0 && load->operand(0)->op->parent != &body();
  }

  static Value *load_again(Builder &builder, const Op &load, Value *slot) {
    Op *copy = builder.create(Opcode::shared_load_, {load.operand(0), slot}, {load.result()->type});
    copy->attributes = load.attributes;
    return copy->result();
  }

  // What the loop carries from `first` on; `next` is yielded.
  Value *carry(Value *first, Value *next) {
    Type type = first->type;
    Value *argument = fn.new_value(type), *result = fn.new_value(type);
    argument->block = &body();
    argument->index = int(body().arguments.size());
    body().arguments.push_back(argument);
    result->op = &loop;
    result->index = int(loop.results.size());
    loop.results.push_back(result);
    loop.operands.push_back(first);
    body().terminator()->operands.push_back(next);
    return argument;
  }

  void run() {
    if (!find_operations() || !can_preload(dots[0]->operand(0)) ||
        !can_preload(dots[0]->operand(1)))
      return;
    Op *loads[2] = {dots[0]->operand(0)->op, dots[0]->operand(1)->op};
    Builder before = Builder::before(fn, &loop);
    before.set_location(wait->location);
    before.create(Opcode::async_wait_, {})->attributes = wait->attributes;
    Value *start = before.i32(0);

    Builder last = Builder::before(fn, dots.back());
    last.set_location(wait->location);
    last.create(Opcode::async_wait_, {})->attributes = wait->attributes;
    Op *slot = last.create(Opcode::ring_slot_, {body().arguments[0]}, {Type::scalar(Elem::i32)});
    slot->attributes = loads[0]->operand(1)->op->attributes;
    slot->set("ahead", int64_t(1));
    for (size_t factor : {0, 1}) {
      before.set_location(loads[factor]->location);
      last.set_location(loads[factor]->location);
      Value *first = load_again(before, *loads[factor], start);
      Value *next = load_again(last, *loads[factor], slot->result());
      dots[0]->operands[factor] = carry(first, next);
    }
    // If every trip ends with all copies landed, there are none to wait for behind the loop.
    Op *behind = loop.parent->ops[loop.parent->position_of(&loop) + 1];
    if (wait->integer("pending") == 0 && behind->is(Opcode::async_wait_))
      erase(behind);
    for (Op *load : loads)
      erase(load);
    erase(wait);
  }
};

} // namespace

void preload_slices(Function &fn) {
  std::vector<Op *> loops;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::for_loop_))
      loops.push_back(&op);
  });
  for (Op *loop : loops)
    State{fn, *loop}.run();
}

} // namespace tritonc
