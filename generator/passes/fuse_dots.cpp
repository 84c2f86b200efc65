// fuse_dots: let a dot accumulate into what it is added to.
//
//     %p = dot %a, %b, %zero
//     %d = add %c, %p             =>     %d = dot %a, %b, %c
//
// The order in which `@` adds up is not specified, so this changes nothing that a kernel may rely
// on. It saves a tile of registers and one addition per element.
//
// Needs:   nothing.
// Ensures: no dot from zero is left whose only use is an addition in the same block.
//
// Tested by tests/passes/fuse_dots_test.cpp.

#include "passes/fuse_dots.h"

namespace tritonc {

using namespace ir;

namespace {

// Whether `value` is a dot from zero beside `sum`, for it alone. (A dot from outside of a loop
// would move into it.)
bool is_fresh_dot(Function &fn, const Value *value, const Op *sum) {
  const Op *op = value->op;
  return op && op->is(Opcode::dot_) && op->parent == sum->parent && is_zero(op->operand(2)) &&
         count_uses(*fn.body, value) == 1;
}

} // namespace

void fuse_dots(Function &fn) {
  std::vector<Op *> sums;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::add_))
      sums.push_back(&op);
  });
  for (Op *sum : sums)
    for (int side : {1, 0}) {
      if (!is_fresh_dot(fn, sum->operand(side), sum))
        continue;
      Op *dot = sum->operand(side)->op;
      sum->code = Opcode::dot_;
      sum->attributes = dot->attributes;
      sum->location = dot->location;
      sum->operands = {dot->operand(0), dot->operand(1), sum->operand(1 - side)};
      erase(dot);
      break;
    }
}

} // namespace tritonc
