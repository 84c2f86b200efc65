// expand_inductions: replaces loop-carried values that grow by a fixed step with formulas.
//
//     for_loop %n, %p0 {                          for_loop %n, %p0 {
//       (%t, %p)                                    (%t, %unused)
//       %a = load %p                          =>    %p = addptr %p0, %t * %step
//       %p1 = addptr %p, %step                      %a = load %p
//       yield %p1                                   ...
//     }                                           }
//
// With the formula the compiler can name the tile of iteration t + 3 without running three
// iterations. form_views and pipeline_loops need this.
//
// Method:  Follows the additions and subtractions from a yielded value back to the loop argument.
//          If none of the steps changes in the loop, the argument becomes start + counter * steps.
//          A use after the loop becomes the formula with the number of iterations. Integers,
//          pointers, and tiles of them are treated alike.
// Needs:   uplift_while_to_for.
// Ensures: no for_loop carries an integer or pointer whose next value is itself plus or minus a
//          value that does not change in the loop. remove_dead_code drops the unused argument.
// Limits:  leaves additions that may wrap ({unsigned}) unchanged: the formula would not wrap.
//
// Tested by tests/unit/passes/expand_inductions/.

#include "passes/expand_inductions.h"

#include "ir/builder.h"

namespace tritonc {

using namespace ir;

namespace {

struct Increment {
  Value *amount;
  bool subtract;
};

struct State {
  Function &fn;
  Op &loop;
  Block &body() { return *loop.blocks[0]; }

  // The steps from argument `arg` to `value`; nothing if `value` is not `arg` plus fixed steps.
  std::optional<std::vector<Increment>> increments(Value *arg, Value *value) {
    std::vector<Increment> result;
    while (value != arg) {
      Op *op = value->op;
      if (!op || op->parent != &body())
        return std::nullopt;
      bool subtract = op->is(Opcode::sub_);
      if ((!op->is(Opcode::add_) && !op->is(Opcode::addptr_) && !subtract) ||
          op->has(attr::unsigned_))
        return std::nullopt;
      bool second = can_clone(op->operand(1), &body(), {});
      bool first = !subtract && op->is(Opcode::add_) && can_clone(op->operand(0), &body(), {});
      if (!second && !first)
        return std::nullopt;
      result.push_back({op->operand(second ? 1 : 0), subtract});
      value = op->operand(second ? 0 : 1);
    }
    return result;
  }

  // `start` after `times` iterations (an i32 scalar), created at `builder`.
  Value *after(Builder &builder, Value *start, const std::vector<Increment> &steps, Value *times) {
    Copies copies;
    Value *value = start;
    for (const Increment &step : steps) {
      Value *amount = clone_computation(builder, step.amount, &body(), copies);
      // The offset of a pointer may need more bits than the step has.
      if (start->type.is_pointer() && amount->type.elem != Elem::i64)
        amount = builder.cast(amount, Elem::i64);
      Value *count = times;
      if (bits_of(amount->type.elem) != 32)
        count = builder.cast(count, amount->type.elem);
      if (amount->type.is_tile())
        count = builder.splat(count, amount->type.shape);
      Value *total = builder.mul(count, amount);
      if (start->type.is_pointer())
        value = builder.addptr(value, total);
      else
        value = step.subtract ? builder.sub(value, total) : builder.add(value, total);
    }
    return value;
  }

  void run() {
    for (size_t i = 0; i < loop.results.size(); i++) {
      Value *arg = body().arguments[i + 1];
      bool counts =
          arg->type.is_pointer() ||
          (arg->type.is_number() && is_integer(arg->type.elem) && arg->type.elem != Elem::i1);
      Value *next = body().terminator()->operand(i);
      if (!counts || next == arg)
        continue;
      std::optional<std::vector<Increment>> steps = increments(arg, next);
      if (!steps)
        continue;
      Value *start = loop.operand(i + 1);
      Builder at_start(fn, &body(), 0);
      Value *closed = after(at_start, start, *steps, body().arguments[0]);
      closed->name = arg->name;
      replace_uses(body(), arg, closed);
      body().terminator()->operands[i] = arg;
      if (!count_uses(*fn.body, loop.results[i]))
        continue;
      Builder after_loop = Builder::after(fn, &loop);
      replace_uses(*fn.body, loop.results[i], after(after_loop, start, *steps, loop.operand(0)));
    }
  }
};

} // namespace

void expand_inductions(Function &fn) {
  std::vector<Op *> loops;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::for_loop_))
      loops.push_back(&op);
  });
  for (Op *loop : loops)
    State{fn, *loop}.run();
}

} // namespace tritonc
