// unroll_loops: turns loops that run a given number of times into straight code.
//
//     %sum = for_loop %n, %zero {             launch_requires %n, 2
//       (%t, %acc)                            %x0 = load view(0)
//       %m = cmp i, %N - 64*%t {lt}           %x1 = load view(1), i < %N - 64
//       %x = load view(%t), %m                %s0 = add %zero, %x0
//       %s = add %acc, %x                     %sum = add %s0, %x1
//       yield %s                              store view(0), %x0
//     }                                 =>    store view(1), %x1, i < %N - 64
//     for_loop %n {
//       (%u)
//       %k = cmp i, %N - 64*%u {lt}
//       %y = load view(%u), %k
//       store view(%u), %y, %k
//       yield
//     }
//
// A row of a few tiles needs no loops: it stays in registers, and memory is read once. The extent of
// a tile is a power of two, but the number of tiles is not: three tiles of 16 elements waste less on
// a row of 40 than one tile of 64.
//
// Method:  The launch takes this schedule only if each loop runs schedule.iterations times. Copies of
//          the loop's code take the place of the loop. Of several iterations, the loads that no
//          earlier iteration can change come first, so they hide each other's latency. Loads of what
//          all programs load stay in their iteration, because the caches have it. In a block that runs
//          several programs as one tile they come first, too. A load of the same elements as an earlier
//          load becomes that load.
//
//          The number of iterations is that of started tiles. So it tells that all tiles but the last
//          are whole: their comparisons are true. A minimum, a maximum, or a sum from zero starts from
//          the elements, and is combined with its initial value last.
// Needs:   canonical loops (expand_inductions) and views (form_views).
// Ensures: no loop of the function's body remains.
// Limits:  inner loops stay.
//
// Tested by tests/unit/passes/unroll_loops/.

#include "passes/unroll_loops.h"

#include "analysis/launch_config.h"
#include "analysis/memory_access.h"
#include "analysis/repeated_loads.h"
#include "analysis/same_value.h"
#include "analysis/tensor_access.h"
#include "ir/builder.h"
#include "passes/grid_of_blocks.h"
#include "passes/merge_repeated_loads.h"
#include "passes/remove_dead_code.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <set>
#include <string>

namespace tritonc {

using namespace ir;

namespace {

std::vector<Op *> loops_of(Function &fn) {
  std::vector<Op *> loops;
  std::copy_if(fn.body->ops.begin(), fn.body->ops.end(), std::back_inserter(loops),
               [](const Op *op) { return op->is(Opcode::for_loop_); });
  return loops;
}

// Requires the number of iterations; loops with the same number need this once.
void require_iterations(Function &fn, const std::vector<Op *> &loops, int64_t iterations) {
  SameValues same;
  std::vector<const Value *> required;
  for (Op *loop : loops) {
    Value *count = loop->operand(0);
    if (std::any_of(required.begin(), required.end(),
                    [&](const Value *other) { return same(other, count); }))
      continue;
    required.push_back(count);
    Builder builder = Builder::before(fn, loop);
    builder.set_location(loop->location);
    Value *wanted = builder.i32(iterations);
    builder.create(Opcode::launch_requires_, {count, wanted})
        ->set(attr::text_, iterations == 1
                               ? "each loop runs once"
                               : "each loop runs " + std::to_string(iterations) + " times");
  }
}

// A polynomial that is not negative if `count`, rounded up, is `iterations`. Nothing if `count` is
// not a quotient.
std::optional<Poly> not_negative(const Value *count, int64_t iterations) {
  while (count->op && (count->op->is(Opcode::cast_) ||
                       (count->op->is(Opcode::max_) && is_zero(count->op->operand(1)))))
    count = count->op->operand(0);
  if (!count->op || !count->op->is(Opcode::div_))
    return std::nullopt;
  const std::optional<int64_t> divisor = constant_of(count->op->operand(1));
  if (!divisor || *divisor <= 0)
    return std::nullopt;
  return poly_of(count->op->operand(0)) - Poly::constant(*divisor * iterations);
}

class Unrolling {
public:
  Unrolling(Function &fn, Op *loop, int64_t iterations)
      : fn_(fn), loop_(loop), body_(*loop->blocks[0]), builder_(Builder::before(fn, loop)),
        not_negative_(not_negative(loop->operand(0), iterations)), copies_(size_t(iterations)) {}

  void run() {
    const std::set<const Op *> first =
        copies_.size() > 1 ? first_loads() : std::set<const Op *>(); // one keeps its order
    for (size_t t = 0; t < copies_.size(); t++) {
      builder_.set_location(loop_->location);
      copies_[t][body_.arguments[0]] = builder_.i32(int64_t(t));
      for (const Op *op : body_.ops)
        if (first.count(op))
          copy(*op, copies_[t]);
    }
    std::vector<Value *> carried(loop_->operands.begin() + 1, loop_->operands.end());
    for (Copies &copies : copies_) {
      for (size_t i = 0; i < carried.size(); i++)
        copies[body_.arguments[i + 1]] = carried[i];
      for (const Op *op : body_.ops)
        if (!first.count(op) && !op->is(Opcode::yield_))
          copy(*op, copies);
      for (size_t i = 0; i < carried.size(); i++) {
        Value *yielded = body_.terminator()->operand(i);
        auto found = copies.find(yielded);
        carried[i] = found == copies.end() ? yielded : found->second;
      }
    }
    for (size_t i = 0; i < carried.size(); i++)
      replace_uses(*fn_.body, loop_->results[i], carried[i]);
    erase(loop_);
  }

private:
  // The loads that all iterations can execute before the rest of the loop, and what they depend on.
  std::set<const Op *> first_loads() const {
    std::set<const Value *> given(body_.arguments.begin(), body_.arguments.begin() + 1);
    std::set<const Op *> first;
    DiffersByProgram differs;
    // What all programs load is in the caches, beside what each program loads. If it came first, it
    // would take registers for a short latency. A batch has it once for several programs.
    auto is_of_program = [&](const Op *op) {
      return op->is(Opcode::load_) && !differs.is_cached(*op);
    };
    const bool has_late_loads =
        !launch_of(fn_) && std::any_of(body_.ops.begin(), body_.ops.end(), is_of_program);
    for (const Op *op : body_.ops) {
      const bool is_load =
          op->is(Opcode::load_) && can_load_first(fn_, *op) &&
          (is_of_program(op) || !has_late_loads) &&
          std::all_of(op->operands.begin(), op->operands.end(),
                      [&](const Value *operand) { return can_clone(operand, &body_, given); });
      if (!is_load)
        continue;
      given.insert(op->result());
      add_with_operands(op, first);
    }
    return first;
  }

  void copy(const Op &op, Copies &copies) {
    Op *made = builder_.copy(op, copies);
    if (!made->is(Opcode::cmp_) || !is_true(*made->result()))
      return;
    Value *one = builder_.constant(Type::scalar(Elem::i1), 1);
    copies[op.result()] = builder_.splat(one, made->result()->type.shape);
  }

  // Whether the number of iterations tells that a comparison is true for all elements.
  bool is_true(const Value &comparison) const {
    if (!not_negative_ || !comparison.type.is_tile())
      return false;
    const auto bounds = bounds_of(&comparison, comparison.type.rank());
    if (!bounds || bounds->size() != 1)
      return false;
    const int64_t extent = comparison.type.shape[size_t((*bounds)[0].axis)];
    const Poly left = Poly() - (*bounds)[0].before - Poly::constant(extent); // after the last
    const std::optional<int64_t> more = (left - *not_negative_).as_constant();
    return more && *more >= 0;
  }

  Function &fn_;
  Op *loop_;
  Block &body_;
  Builder builder_;
  const std::optional<Poly> not_negative_;
  std::vector<Copies> copies_; // of the values of each iteration
};

// Combines a total with its initial value after the reduction: once, not for each element.
void start_after_reducing(Function &fn, Op *reduce) {
  const std::string name(reduce->get(attr::op_));
  const bool has_one_order = name == "min" || name == "max" || name == "umin" || name == "umax";
  if (!has_one_order && name != "add")
    return;
  Op *user = reduce; // of the total so far
  while (true) {
    Op *combined = user->operand(0)->op;
    if (!combined || combined->code != *combining_op(name) ||
        count_uses(*fn.body, combined->result()) > 1)
      return;
    for (size_t i : {0, 1}) {
      Value *start = const_cast<Value *>(scalar_of(combined->operand(i)));
      if (!start || !start->type.is_scalar() || !(has_one_order || is_zero(start)))
        continue;
      user->operands[0] = combined->operand(1 - i);
      Builder builder = Builder::after(fn, reduce);
      builder.set_location(combined->location);
      const Type &type = reduce->result()->type;
      Value *all = builder.binary(combined->code, reduce->result(),
                                  type.is_scalar() ? start : builder.splat(start, type.shape));
      all->name = reduce->result()->name;
      replace_uses(*fn.body, reduce->result(), all);
      all->op->operands[0] = reduce->result();
      return;
    }
    user = combined;
  }
}

} // namespace

bool try_unrolling(Function &fn, int64_t iterations) {
  std::vector<Op *> loops = loops_of(fn);
  bool are_known = std::all_of(loops.begin(), loops.end(), [](const Op *loop) {
    return host_expression(loop->operand(0)).has_value();
  });
  if (loops.empty() || !are_known)
    return false;
  require_iterations(fn, loops, iterations);
  for (Op *loop : loops)
    Unrolling(fn, loop, iterations).run();
  merge_repeated_loads(fn);
  for (Op *op : std::vector<Op *>(fn.body->ops))
    if (op->is(Opcode::reduce_))
      start_after_reducing(fn, op);
  remove_dead_code(fn); // comparisons that are true
  return true;
}

void unroll_loops(Function &fn, const Schedule &schedule) {
  if (!schedule.iterations)
    return;
  [[maybe_unused]] bool is_unrolled = try_unrolling(fn, schedule.iterations);
  assert(is_unrolled && "candidate_schedules has looked");
}

} // namespace tritonc
