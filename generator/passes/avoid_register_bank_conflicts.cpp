// avoid_register_bank_conflicts: copies the accumulators of fma dots before they are stored.
//
//     %sum = for_loop %n, %zero {                %sum = for_loop %n, %zero {
//       (%t, %acc)                                 (%t, %acc)
//       %d = dot %a, %b, %acc {"fma"}              %d = dot %a, %b, %acc {"fma"}
//       yield %d                            =>     yield %d
//     }                                          }
//     store %p, %sum                             %copy = copy %sum
//                                                store %p, %copy
//
// The registers of an SM are in two banks, even and odd. An fma that reads an operand and its
// accumulator from the same bank sometimes waits for a cycle. A 16-byte load from shared memory
// fills four consecutive registers, and a 16-byte store reads four. Without the copies, element n
// of a row of operands and element n of a row of accumulators share a bank for the whole loop. With
// the copies ptxas is free to put the accumulators into the other bank, and does.
//
// Method:  Inserts a copy before each store of an fma dot's result, direct or carried by a loop.
// Needs:   select_mma.
// Ensures: no f32 accumulator of an fma dot is an operand of a store.
// Limits:  only f32 accumulators that are stored unchanged. Any other operation makes new values
//          anyway, and wider types lie in both banks.
//
// Tested by tests/unit/passes/avoid_register_bank_conflicts/.

#include "passes/avoid_register_bank_conflicts.h"

#include "ir/builder.h"

namespace tritonc {

using namespace ir;

namespace {

bool is_sum_of_fmas(const Value *value) {
  const Op *op = value->op;
  if (op && op->is(Opcode::for_loop_))
    return is_sum_of_fmas(op->blocks[0]->terminator()->operand(size_t(value->index)));
  return op && op->is(Opcode::dot_) && op->get(attr::instruction_) == "fma" &&
         value->type.elem == Elem::f32;
}

} // namespace

void avoid_register_bank_conflicts(Function &fn) {
  std::vector<Op *> stores;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::store_) && is_sum_of_fmas(op.operand(1)))
      stores.push_back(&op);
  });
  for (Op *store : stores) {
    Builder builder = Builder::before(fn, store);
    builder.set_location(store->location);
    store->operands[1] = builder.unary(Opcode::copy_, store->operand(1));
  }
}

} // namespace tritonc
