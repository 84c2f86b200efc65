// prefetch_dot_operands: loads the first slice of the next iteration before the last dot of this
// one.
//
//                                                 async_wait {pending = 1}
//                                                 %a = shared_load %s, 0 {origin = [0,0]}
//     for_loop %n, %c {                           for_loop %n, %c, %a {
//       (%t, %acc)                                  (%t, %acc, %a0)
//       async_wait {pending = 1}                    async_copy ..., stage t+2
//       async_copy ..., stage t+2                   %a1 = shared_load %s, t {origin = [0,16]}
//       %a0 = shared_load %s, t {origin = [0,0]}    %d0 = dot %a0, ..., %acc
//       %a1 = shared_load %s, t {origin = [0,16]}   async_wait {pending = 1}
//       %d0 = dot %a0, ..., %acc               =>   %a2 = shared_load %s, t+1 {origin = [0,0]}
//       %d1 = dot %a1, ..., %d0                     %d1 = dot %a1, ..., %d0
//       yield %d1                                   yield %d1, %a2
//     }                                           }
//
// (B likewise). split_dots_along_k loads each slice before the dot of the previous slice. But the
// first slice of an iteration has no dot before it, so there all threads wait: at the barrier, then
// for shared memory. After this pass the last dot hides both.
//
// Method:  The loop carries the first slice of both operands. The wait and these loads move before
//          the last dot of the previous iteration; a copy of them stands before the loop. No more
//          registers are needed: as before, the fragments of two slices are live.
//
//          The last iteration loads zeros, because the copies of iterations past the end write
//          zeros.
// Needs:   pipeline_loops, whose circular buffer and wait it uses; split_dots_along_k.
// Ensures: each stage is read after the wait that covers its copy. Copies go to the stage that the
//          previous iteration read (insert_barriers orders the threads).
// Limits:  all dots are directly in the loop and form one chain of at least two; no loops or
//          branches in the loop; no wgmma, which needs a fence after the wait; exactly one wait; the first dot is the only use of its operands,
//          which are loads from the stage of the current iteration. Otherwise nothing happens.
//
// Tested by tests/unit/passes/prefetch_dot_operands/.

#include "passes/prefetch_dot_operands.h"

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

  // Finds one wait and one chain of dots, the result of split_dots_along_k for one matmul.
  bool find_operations() {
    for (Op *op : body().ops) {
      if (!op->blocks.empty() || op->is(Opcode::proxy_fence_) ||
          (op->is(Opcode::async_wait_) && wait))
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

  // Whether `operand` is loaded from the current stage of a circular buffer, for one dot only.
  bool can_preload(const Value *operand) {
    const Op *load = operand->op;
    if (!load || !load->is(Opcode::shared_load_) || load->parent != &body() ||
        count_uses(*fn.body, operand) != 1)
      return false;
    const Op *stage = load->operand(1)->op;
    return stage && stage->is(Opcode::stage_index_) && stage->operand(0) == body().arguments[0] &&
           stage->get(attr::offset_) == 0 && load->operand(0)->op->parent != &body();
  }

  static Value *load_again(Builder &builder, const Op &load, Value *stage) {
    Op *copy =
        builder.create(Opcode::shared_load_, {load.operand(0), stage}, {load.result()->type});
    copy->attributes = load.attributes;
    return copy->result();
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
    Op *stage = last.create(Opcode::stage_index_, {body().arguments[0]}, {Type::scalar(Elem::i32)});
    stage->attributes = loads[0]->operand(1)->op->attributes;
    stage->set(attr::offset_, int64_t(1));
    for (size_t operand : {0, 1}) {
      before.set_location(loads[operand]->location);
      last.set_location(loads[operand]->location);
      Value *first = load_again(before, *loads[operand], start);
      Value *next = load_again(last, *loads[operand], stage->result());
      dots[0]->operands[operand] = add_carried(fn, loop, first);
      body().terminator()->operands.push_back(next);
    }
    // With {pending = 0} every iteration ends after all copies, so the wait after the loop is
    // superfluous.
    Op *next_op = loop.parent->ops[loop.parent->position_of(&loop) + 1];
    if (wait->get(attr::pending_) == 0 && next_op->is(Opcode::async_wait_))
      erase(next_op);
    for (Op *load : loads)
      erase(load);
    erase(wait);
  }
};

} // namespace

void prefetch_dot_operands(Function &fn) {
  std::vector<Op *> loops;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::for_loop_))
      loops.push_back(&op);
  });
  for (Op *loop : loops)
    State{fn, *loop}.run();
}

} // namespace tritonc
