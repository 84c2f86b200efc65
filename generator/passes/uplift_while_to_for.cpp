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
//          The counter of a for loop is an i32. A 64-bit scalar may take more iterations. If its
//          limits have 64 bits too, a launch requires that the counter can hold the number of
//          iterations. A 32-bit scalar can take more only with a step of 1, over more than half of
//          its range.
// Needs:   nothing.
// Ensures: every remaining while_loop has a condition that is not such a comparison, or limits of 64
//          bits that the host does not know, or too many iterations.
// Limits:  nothing happens if the step is not a constant, or if the comparison is unsigned or `!=`.
//
// Tested by tests/unit/passes/uplift_while_to_for/ and uplift_while_to_for_test.cpp.

#include "passes/uplift_while_to_for.h"

#include "analysis/affine.h"
#include "analysis/tensor_access.h"

#include <algorithm>
#include <cmath>

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

  // The invariant `poly`, computed by copies of the operations inside `block`.
  Value *emit_outside(Builder &builder, const Block &block, const Poly &poly) {
    Copies copies;
    Poly outside = poly;
    for (const auto &[monomial, coefficient] : poly.terms)
      for (const Value *symbol : monomial)
        outside = outside.substitute(
            symbol,
            Poly::symbol(clone_computation(builder, const_cast<Value *>(symbol), &block, copies)));
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
    int bits; // of the carried scalar

    Poly rounded_up() const { return start + Poly::constant(step - 1); }
  };

  std::optional<Countdown> countdown(const Poly &positive) {
    for (size_t i = 0; i < loop.results.size(); i++) {
      const Value *carried = condition().arguments[i];
      bool counts =
          carried->type.is_scalar() && carried->type.is_number() && is_integer(carried->type.elem);
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
      return Countdown{-*step, start, bits_of(carried->type.elem)};
    }
    return std::nullopt;
  }

  // Whether an i32 can hold the number of iterations for all values of the symbols.
  static bool fits_counter(const Countdown &count) {
    const double max = std::pow(2.0, 31) - 1; // of an i32; double is exact up to 2^53
    double most = 0;
    for (const auto &[monomial, coefficient] : count.rounded_up().terms) {
      double value = monomial.empty() ? 1 : coefficient > 0 ? max : max + 1;
      if (monomial.size() > 1 || (monomial.size() == 1 && bits_of(monomial[0]->type.elem) > 32))
        return false;
      most += value * (monomial.empty() ? double(coefficient) : std::abs(double(coefficient)));
    }
    return most / double(count.step) < max + 1;
  }

  Value *divided(Builder &builder, const Countdown &count, Value *rounded_up) {
    Value *result = builder.binary(Opcode::div_, rounded_up, builder.i64(count.step));
    return builder.binary(Opcode::max_, result, builder.i64(0));
  }

  Value *iterations(Builder &builder, const Countdown &count) {
    if (std::optional<int64_t> known = count.rounded_up().as_constant())
      return builder.i32(std::clamp<int64_t>(*known / count.step, 0, INT32_MAX));
    Value *before = emit_outside(builder, condition(), count.rounded_up());
    return builder.cast(divided(builder, count, before), Elem::i32);
  }

  // Requires of a launch that an i32 can hold the number of iterations.
  void require_counter(const Countdown &count) {
    Builder builder(fn, fn.body, 0);
    builder.set_location(loop.location);
    Value *exact = divided(builder, count, emit_outside(builder, *fn.body, count.rounded_up()));
    Value *max = builder.i64(INT32_MAX);
    Value *larger = builder.binary(Opcode::max_, exact, max);
    builder.create(Opcode::launch_requires_, {larger, max})
        ->set(attr::text_, "a loop runs at most 2147483647 times");
  }

  void run() {
    std::optional<Poly> positive = positive_while_running();
    std::optional<Countdown> count = positive ? countdown(*positive) : std::nullopt;
    if (!count)
      return;
    if (count->bits > 32 && !fits_counter(*count)) {
      if (count->start.as_constant() || !host_knows(count->start))
        return;
      require_counter(*count);
    }
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
