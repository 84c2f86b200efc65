// uplift_while_to_for: turns while loops into for loops, if the iterations are known at the start.
//
//     while_loop %K, ... {                        %n = max(0, (%K + 15) / 16)
//       (%k, ...)                                 for_loop %n, %K, ... {
//       %c = cmp %k, 0 {pred = "gt"}                (%t, %k, ...)
//       condition %c                          =>    ...
//     } {                                           %k2 = sub %k, 16
//       (%k, ...)                                   yield %k2, ...
//       ...                                       }
//       %k2 = sub %k, 16
//       yield %k2, ...
//     }
//
// Later passes prefetch and reorder iterations: they need a counter, and the number of iterations
// before the loop starts.
//
// Method:  The condition compares two polynomials. Their difference must contain exactly one
//          carried scalar, in a linear term, and otherwise only values that every iteration has in
//          common, such as the limit min(N, %first + 64). If that scalar advances by a constant
//          toward the end of the loop, a division gives the number of iterations. The loop still
//          carries the scalar; expand_inductions makes it a formula.
// Needs:   nothing.
// Ensures: every remaining while_loop has a condition that is not such a comparison.
// Limits:  nothing happens if the step is not a constant, if the comparison is unsigned or `!=`, or
//          if the scalar has 64 bits. A 64-bit scalar may take more iterations than the i32 counter
//          of a for loop can hold. A 32-bit one can do so only with a step of 1, over more than
//          half of its range.
//
// Tested by tests/unit/passes/uplift_while_to_for/ and uplift_while_to_for_test.cpp.

#include "passes/uplift_while_to_for.h"

#include "analysis/affine.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

struct State {
  Function &fn;
  Op &loop;
  Block &condition() { return *loop.blocks[0]; }
  Block &body() { return *loop.blocks[1]; }

  // Whether the value does not depend on the iteration.
  bool is_invariant(const Value *value) {
    return can_clone(value, &condition(), {}) && defined_outside(value, &body());
  }

  bool is_invariant(const Poly &poly) {
    for (const auto &[monomial, coefficient] : poly.terms)
      for (const Value *symbol : monomial)
        if (!is_invariant(symbol))
          return false;
    return true;
  }

  // The invariant `poly`, computed before the loop.
  Value *emit_before_loop(Builder &builder, const Poly &poly) {
    Copies copies;
    Poly outside = poly;
    for (const auto &[monomial, coefficient] : poly.terms)
      for (const Value *symbol : monomial)
        outside = outside.substitute(
            symbol, Poly::symbol(clone_computation(builder, const_cast<Value *>(symbol),
                                                   &condition(), copies)));
    return emit(builder, outside);
  }

  // The loop continues while the returned polynomial is positive at the start of an iteration.
  std::optional<Poly> positive_while_running() {
    for (const Op *op : condition().ops)
      if (info(op->code).effect != Effect::pure && !op->is(Opcode::condition_))
        return std::nullopt;
    const Op *cmp = condition().terminator()->operand(0)->op;
    if (!cmp || !cmp->is(Opcode::cmp_) || !cmp->operand(0)->type.is_number() ||
        !is_integer(cmp->operand(0)->type.elem))
      return std::nullopt;
    Poly difference = poly_of(cmp->operand(0)) - poly_of(cmp->operand(1));
    std::string_view pred = cmp->get(attr::pred_);
    if (pred == "gt")
      return difference;
    if (pred == "ge")
      return difference + Poly::constant(1);
    if (pred == "lt")
      return Poly() - difference;
    if (pred == "le")
      return Poly::constant(1) - difference;
    return std::nullopt;
  }

  // The decrease of the polynomial per iteration, and its value at the start.
  struct Countdown {
    int64_t step;
    Poly start;
  };

  std::optional<Countdown> countdown(const Poly &positive) {
    for (size_t i = 0; i < loop.results.size(); i++) {
      const Value *carried = condition().arguments[i];
      bool counts = carried->type.is_scalar() && carried->type.is_number() &&
                    is_integer(carried->type.elem) && bits_of(carried->type.elem) <= 32;
      if (!counts)
        continue;
      auto term = positive.terms.find({carried});
      Poly without = positive.substitute(carried, Poly());
      if (term == positive.terms.end() || without.terms.size() + 1 != positive.terms.size())
        continue; // not in it, or also in products
      Poly start = positive.substitute(carried, poly_of(loop.operand(i)));
      Poly growth = poly_of(body().terminator()->operand(i)) - Poly::symbol(body().arguments[i]);
      std::optional<int64_t> step = (growth * Poly::constant(term->second)).as_constant();
      if (!is_invariant(start) || !step || *step >= 0)
        return std::nullopt;
      return Countdown{-*step, start};
    }
    return std::nullopt;
  }

  Value *iterations(Builder &builder, const Countdown &count) {
    const Poly start = count.start + Poly::constant(count.step - 1);
    if (std::optional<int64_t> known = start.as_constant())
      return builder.i32(std::clamp<int64_t>(*known / count.step, 0, INT32_MAX));
    Value *before = emit_before_loop(builder, start);
    Value *result = builder.binary(Opcode::div_, before, builder.i64(count.step));
    result = builder.binary(Opcode::max_, result, builder.i64(0));
    return builder.cast(result, Elem::i32);
  }

  void run() {
    std::optional<Poly> positive = positive_while_running();
    std::optional<Countdown> count = positive ? countdown(*positive) : std::nullopt;
    if (!count)
      return;
    Builder builder = Builder::before(fn, &loop);
    builder.set_location(loop.location);
    Op *counted = builder.for_loop(iterations(builder, *count), loop.operands);
    Block &block = *counted->blocks[0];
    block.arguments[0]->name = "t";
    block.ops = std::move(body().ops);
    for (Op *op : block.ops)
      op->parent = &block;
    for (size_t i = 0; i < loop.results.size(); i++) {
      block.arguments[i + 1]->name = body().arguments[i]->name;
      counted->results[i]->name = loop.results[i]->name;
      replace_uses(block, body().arguments[i], block.arguments[i + 1]);
      replace_uses(*fn.body, loop.results[i], counted->results[i]);
    }
    erase(&loop);
  }
};

} // namespace

void uplift_while_to_for(Function &fn) {
  std::vector<Op *> loops;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::while_loop_))
      loops.push_back(&op);
  });
  for (Op *loop : loops)
    State{fn, *loop}.run();
}

} // namespace tritonc
