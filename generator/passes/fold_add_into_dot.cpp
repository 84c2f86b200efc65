// fold_add_into_dot: lets a dot accumulate into the tile that it is added to.
//
//     %p = dot %a, %b, %zero
//     %d = add %c, %p             =>     %d = dot %a, %b, %c
//
// The fold saves a tile of registers and one addition per element. The order in which `@` adds is
// not specified, so no kernel may rely on it.
//
// Method:  Turns an add into a dot if one operand is a dot from zero in the same block, and nothing
//          else uses that dot. The other operand becomes the accumulator.
// Needs:   nothing from other passes.
// Ensures: no dot from zero is left whose only use is an addition in the same block.
// Limits:  leaves a dot in another block unchanged: it would move into the loop of the addition.
//
// Tested by tests/unit/passes/fold_add_into_dot/.

#include "passes/fold_add_into_dot.h"

namespace tritonc {

using namespace ir;

namespace {

// Whether `value` is a dot from zero in the block of `add`, which alone uses it. (A dot outside a
// loop would move into the loop.)
bool is_fresh_dot(Function &fn, const Value *value, const Op *add) {
  const Op *op = value->op;
  return op && op->is(Opcode::dot_) && op->parent == add->parent && is_zero(op->operand(2)) &&
         count_uses(*fn.body, value) == 1;
}

} // namespace

void fold_add_into_dot(Function &fn) {
  std::vector<Op *> adds;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::add_))
      adds.push_back(&op);
  });
  for (Op *add : adds)
    for (int side : {1, 0}) {
      if (!is_fresh_dot(fn, add->operand(side), add))
        continue;
      Op *dot = add->operand(side)->op;
      add->code = Opcode::dot_;
      add->attributes = dot->attributes;
      add->location = dot->location;
      add->operands = {dot->operand(0), dot->operand(1), add->operand(1 - side)};
      erase(dot);
      break;
    }
}

} // namespace tritonc
