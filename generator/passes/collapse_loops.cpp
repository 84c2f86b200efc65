// collapse_loops: makes one loop of two nested loops.
//
//     %r = for_loop %n, %zero {               %r = for_loop (max %n, 0) * (max %m, 0), %zero {
//       (%t, %a)                                (%t, %b)
//       %s = for_loop %m, %a {                  %q = udiv %t, %m
//         (%u, %b)                              %v = urem %t, %m
//         %x = load view(%t, %u)          =>    %x = load view(%q, %v)
//         %c = add %b, %x                       %c = add %b, %x
//         yield %c                              yield %c
//       }                                     }
//       yield %s
//     }
//
// A tensor that is reduced along two axes needs two loops, for example over images and over pixels.
// The inner loop may be short, so its iterations alone are too few to divide among blocks, or to
// keep in shared memory. As one loop, they are as many as the elements need.
//
// Method:  The counters of both loops become the quotient and the remainder of the new counter. The
//          operations around the inner loop are computed in each iteration. An inner loop that runs
//          once leaves the outer loop's counter as it is.
// Needs:   canonical loops (expand_inductions); no dead operations.
// Ensures: nothing that later passes need.
// Limits:  the outer loop contains one loop, whose number of iterations it does not change, and
//          otherwise only indices and masks. It only hands its carried values to the inner loop.
//          Loops with a dot stay if they load through views only: TMA and longer K tiles need the
//          inner loop. Tiles of pointers have neither, and a short inner loop would leave
//          pipeline_loops too few iterations.
//
// Tested by tests/unit/passes/collapse_loops/.

#include "passes/collapse_loops.h"

#include "ir/builder.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// Whether `op` only computes integers, masks or pointers.
bool is_index_computation(const Op &op) {
  return info(op.code).effect == Effect::pure && op.blocks.empty() &&
         std::none_of(op.results.begin(), op.results.end(), [](const Value *result) {
           return result->type.is_number() && is_float(result->type.elem);
         });
}

// Whether `block` has a dot, and loads all tiles through views.
bool multiplies_views(Block &block) {
  bool has_dot = false, has_pointers = false;
  for_each_op(block, [&](const Op &op) {
    has_dot |= op.is(Opcode::dot_);
    has_pointers |=
        op.is(Opcode::load_) && op.result()->type.is_tile() && op.operand(0)->type.is_pointer();
  });
  return has_dot && !has_pointers;
}

// The only loop in the body of `outer`; null if there is none, or something else but indices.
Op *find_inner_loop(const Op &outer) {
  Op *found = nullptr;
  for (Op *op : outer.blocks[0]->ops) {
    if (op->is(Opcode::for_loop_) && !found)
      found = op;
    else if (!op->is(Opcode::yield_) && !is_index_computation(*op))
      return nullptr;
  }
  return found;
}

// Whether the carried values of `outer` are those of `inner`, and have no other use in `outer`.
bool hands_over_carried_values(const Op &outer, const Op &inner) {
  Block &body = *outer.blocks[0];
  const Op &yield = *body.terminator();
  if (outer.results.size() != inner.results.size())
    return false;
  for (size_t i = 0; i < inner.results.size(); i++) {
    const Value *argument = body.arguments[i + 1], *result = inner.results[i];
    if (inner.operand(i + 1) != argument || yield.operand(i) != result ||
        count_uses(body, argument) != 1 || count_uses(body, result) != 1)
      return false;
  }
  return true;
}

Value *not_negative(Builder &builder, Value *count) {
  return builder.binary(Opcode::max_, count, builder.i32(0));
}

void collapse(Function &fn, Op &outer, Op &inner) {
  Block &body = *outer.blocks[0], &body_of_inner = *inner.blocks[0];
  Builder before = Builder::before(fn, &outer);
  before.set_location(outer.location);
  Value *counter = body.arguments[0], *counter_of_inner = body_of_inner.arguments[0];
  Builder start(fn, &body, 0);
  start.set_location(outer.location);
  if (constant_of(inner.operand(0)) == 1) {
    replace_uses(body_of_inner, counter_of_inner, start.i32(0));
  } else {
    Copies copies;
    Value *length = clone_computation(before, inner.operand(0), &body, copies);
    Value *rows = not_negative(before, outer.operand(0));
    outer.operands[0] = before.mul(rows, not_negative(before, length));
    Value *quotient = start.binary(Opcode::udiv_, counter, length);
    Value *remainder = start.binary(Opcode::urem_, counter, length);
    replace_uses(body, counter, quotient);
    quotient->op->operands[0] = remainder->op->operands[0] = counter;
    quotient->name = counter->name;
    remainder->name = counter_of_inner->name;
    replace_uses(body_of_inner, counter_of_inner, remainder);
  }
  for (size_t i = 0; i < inner.results.size(); i++)
    replace_uses(body_of_inner, body_of_inner.arguments[i + 1], body.arguments[i + 1]);
  body.ops.pop_back(); // the yield
  erase(&inner);
  for (Op *op : body_of_inner.ops) {
    op->parent = &body;
    body.ops.push_back(op);
  }
}

} // namespace

void collapse_loops(Function &fn) {
  std::vector<Op *> loops; // each before the loops in it
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::for_loop_))
      loops.push_back(&op);
  });
  for (size_t i = loops.size(); i-- > 0;) {
    Op *outer = loops[i], *inner = find_inner_loop(*outer);
    if (inner && can_clone(inner->operand(0), outer->blocks[0], {}) &&
        hands_over_carried_values(*outer, *inner) && !multiplies_views(*inner->blocks[0]))
      collapse(fn, *outer, *inner);
  }
}

} // namespace tritonc
