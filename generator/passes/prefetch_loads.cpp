// prefetch_loads: lets a loop load its tiles one iteration ahead.
//
//                                              %a0 = load view(0), if 0 < n
//     %s = for_loop %n, %zero {                %s = for_loop %n, %zero, %a0 {
//       (%t, %acc)                               (%t, %acc, %a)
//       %a = load view(%t)             =>        %b = add %acc, %a
//       %b = add %acc, %a                        %a1 = load view(%t+1), if %t+1 < n
//       yield %b                                 yield %b, %a1
//     }                                        }
//
// Without it, ptxas decides when a thread loads. To save registers it may use each vector right
// after its load, so that a thread waits for its vectors one by one. Now all loads of an iteration
// are under way while the next one begins.
//
// Method:  The next load comes last, so that it can have the registers of the present tile. The last
//          iteration loads nothing: its mask is off, and its addresses are those of the last tile.
// Needs:   canonical loops (expand_inductions) and views (form_views); stage_repeated_loads, whose
//          copies need no registers.
// Ensures: each element is loaded as often as before.
// Limits:  innermost loops that only read memory, without a dot: pipeline_loops has better means for
//          the operands of dots. All loads of the loop depend on the loop counter only, have no cache
//          hint, and move 16 bytes at once. A narrower access has a mask for fewer elements, and the
//          masks of the next iteration cost more than the wait.
//
// Tested by tests/unit/passes/prefetch_loads/.

#include "passes/prefetch_loads.h"

#include "analysis/memory_access.h"
#include "analysis/repeated_loads.h"
#include "ir/builder.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// Whether `loop` is an innermost loop that only reads memory, without a dot. A loop that fills shared
// memory or waits for other warps belongs to a pipeline.
bool only_reads(Op &loop) {
  bool found = false;
  for_each_op(*loop.blocks[0], [&](const Op &op) {
    const Effect effect = info(op.code).effect;
    found |= op.is(Opcode::for_loop_) || op.is(Opcode::while_loop_) || op.is(Opcode::dot_) ||
             (effect != Effect::pure && effect != Effect::read && effect != Effect::shared_read &&
              effect != Effect::control);
  });
  return !found;
}

bool can_prefetch(const Function &fn, const Op &loop, const Op &load) {
  const Block &body = *loop.blocks[0];
  if (load.parent != &body || !depends_on_counter_only(load, body) || !can_load_first(fn, load))
    return false;
  const int elements = vector_elements(load.operand(0), load.operand_or_null(1), fn);
  return elements * bytes_of(load.result()->type.elem) == widest_access_bytes;
}

// The masked-off elements of `load`; null: any.
Value *masked_off(Builder &builder, const Op &load, Value *iteration) {
  Copies copies = {{load.parent->arguments[0], iteration}};
  Value *other = load.operand_or_null(2);
  return other ? clone_computation(builder, other, load.parent, copies) : nullptr;
}

void prefetch(Function &fn, Op &loop, const std::vector<Op *> &loads) {
  Block &body = *loop.blocks[0];
  Builder before = Builder::before(fn, &loop), last = Builder::before(fn, body.terminator());
  before.set_location(loop.location);
  last.set_location(loop.location);
  Value *iterations = loop.operand(0), *first = before.i32(0);
  Value *any = before.cmp("lt", first, iterations);
  Value *next = last.add(body.arguments[0], last.i32(1));
  Value *exists = last.cmp("lt", next, iterations);
  Value *final = last.sub(iterations, last.i32(1));
  Value *counter = last.binary(Opcode::min_, next, final);
  for (Op *load : loads) {
    before.set_location(load->location);
    last.set_location(load->location);
    Value *other = masked_off(before, *load, first);
    Value *carried = add_carried(fn, loop, load_in_iteration(before, *load, first, any, other));
    other = masked_off(last, *load, counter);
    Value *later = load_in_iteration(last, *load, counter, exists, other);
    body.terminator()->operands.push_back(later);
    replace_uses(body, load->result(), carried);
  }
  for (Op *load : loads) // now, since `last` counts the operations before it
    erase(load);
}

} // namespace

void prefetch_loads(Function &fn) {
  std::vector<Op *> loops;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::for_loop_) && only_reads(op))
      loops.push_back(&op);
  });
  for (Op *loop : loops) {
    std::vector<Op *> loads;
    for_each_op(*loop->blocks[0], [&](Op &op) {
      if (op.is(Opcode::load_))
        loads.push_back(&op);
    });
    if (!loads.empty() && std::all_of(loads.begin(), loads.end(),
                                      [&](Op *load) { return can_prefetch(fn, *loop, *load); }))
      prefetch(fn, *loop, loads);
  }
}

} // namespace tritonc
