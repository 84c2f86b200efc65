// detach_sums: copy sums of fma instructions before they are stored.
//
//     %sum = for_loop %n, %zero {                %sum = for_loop %n, %zero {
//       (%t, %acc)                                 (%t, %acc)
//       %d = dot %a, %b, %acc {"fma"}              %d = dot %a, %b, %acc {"fma"}
//       yield %d                            =>     yield %d
//     }                                          }
//     store %p, %sum                             %copy = copy %sum
//                                                store %p, %copy
//
// The registers of a multiprocessor are in two banks, the even ones and the odd ones. An fma that
// reads its factor and its sum from the same bank waits for a cycle now and then. What is loaded
// from shared memory by 16 bytes lies in four registers in the order of memory, and so does what is
// stored by 16 bytes: without the copies element n of a row of factors and element n of a row of
// sums are always in the same bank, for the whole loop. With them ptxas is free to put sums into
// the other one, and does.
//
// Needs:   choose_dots.
// Ensures: no sum of an fma is an operand of a store.
// Limits:  sums in f32 that are stored as they are: everything else makes new values anyway, and
//          wider ones lie in both banks.
//
// Tested by tests/passes/detach_sums_test.cpp.

#include "passes/detach_sums.h"

#include "ir/builder.h"

namespace tritonc {

using namespace ir;

namespace {

bool is_sum_of_fmas(const Value *value) {
  const Op *op = value->op;
  if (op && op->is(Opcode::for_loop_))
    return is_sum_of_fmas(op->blocks[0]->terminator()->operand(size_t(value->index)));
  return op && op->is(Opcode::dot_) && op->text("instruction") == "fma" &&
         value->type.elem == Elem::f32;
}

} // namespace

void detach_sums(Function &fn) {
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
