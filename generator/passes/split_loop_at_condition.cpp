// split_loop_at_condition: divides a loop where a condition of its counter changes.
//
//     %r = for_loop %n, %x {                  %first = min(max(%b / 64, 0), %n)
//       (%t, %a)                              %r0 = for_loop %first, %x {
//       %s = dot ...                            (%t, %a)
//       %c = cmp %t * 64 + 64, %b {gt}          %s = dot ...
//       %m = if_else %c {                       yield use of %s
//         yield select %mask, %s, %low        }
//       } {                             =>    %r = for_loop %n - %first, %r0 {
//         yield %s                              (%u, %a)
//       }                                       %t = %u + %first
//       yield use of %m                         %s = dot ...
//     }                                         %m = select %mask, %s, %low
//                                               yield use of %m
//                                             }
//
// The mask of causal attention, and that of the last keys, is needed in the last iterations only. A
// branch in the loop would make the tensor cores wait: no wgmma is in flight across it. LLVM calls
// this index set splitting.
//
// Method:  The condition compares two integer scalars whose difference is a multiple of the counter
//          plus what does not change in the loop. So it changes at most once, in an iteration that is
//          computed before the loop. Each of the two loops has the code of its branch only.
// Needs:   for_loops (uplift_while_to_for). overlap_dots, which changes what an iteration does.
// Ensures: each new loop has a branch less.
// Limits:  nothing happens unless the schedule is warp-specialized, or in loops without a dot.
//          Unsigned comparisons stay.
//
// Tested by tests/unit/passes/split_loop_at_condition/ and split_loop_at_condition_test.cpp.

#include "passes/split_loop_at_condition.h"

#include "analysis/affine.h"
#include "analysis/operand_loads.h"
#include "ir/builder.h"

#include <algorithm>
#include <optional>

namespace tritonc {

using namespace ir;

namespace {

// A branch that takes its first block in the iterations before `change`, or from `change` on.
struct Branch {
  Op *op;      // if_else
  Poly change; // the sum `change` / `step`, rounded down, is the iteration; may be less than 0
  int64_t step;
  bool starts_true;
};

// Where `rest` + `step` * counter <= 0 ceases to hold: at the iteration (step - rest) / step.
std::optional<Branch> branch_of(Op *op, const Op &loop) {
  const Op *compare = op->operand(0)->op;
  if (!compare || !compare->is(Opcode::cmp_) || !is_integer(compare->operand(0)->type.elem))
    return std::nullopt;
  std::string_view pred = compare->get(attr::pred_);
  if (pred != "lt" && pred != "le" && pred != "gt" && pred != "ge")
    return std::nullopt;
  const Value *counter = loop.blocks[0]->arguments[0];
  Poly difference = poly_of(compare->operand(0)) - poly_of(compare->operand(1));
  const Poly growth =
      difference.substitute(counter, Poly::symbol(counter) + Poly::constant(1)) - difference;
  std::optional<int64_t> step = growth.as_constant();
  if (!step || *step == 0)
    return std::nullopt;
  bool is_less = pred[0] == 'l', or_equal = pred[1] == 'e';
  if (*step < 0) {
    difference = Poly::constant(0) - difference;
    step = -*step;
    is_less = !is_less;
  }
  Poly rest = difference - Poly::symbol(counter) * Poly::constant(*step);
  for (const auto &[monomial, coefficient] : rest.terms)
    for (const Value *symbol : monomial)
      if (!defined_outside(symbol, loop.blocks[0]))
        return std::nullopt;
  // d < 0 and d >= 0 change where d + 1 <= 0 ceases to hold; d <= 0 and d > 0 where d <= 0 does.
  if (is_less != or_equal)
    rest = rest + Poly::constant(1);
  return Branch{op, Poly::constant(*step) - rest, *step, is_less};
}

// Appends the operations of `from` to the builder's block. The branch becomes the block that it takes.
void emit(Builder &builder, const Block &from, const Branch &branch, bool takes_first,
          Copies &copies) {
  for (const Op *op : from.ops) {
    if (op != branch.op) {
      builder.copy(*op, copies);
      continue;
    }
    const Block &taken = *op->blocks[takes_first ? 0 : 1];
    for (const Op *inner : taken.ops)
      if (inner != taken.terminator())
        builder.copy(*inner, copies);
    for (size_t i = 0; i < op->results.size(); i++) {
      Value *value = taken.terminator()->operand(i);
      copies[op->results[i]] = copies.count(value) ? copies[value] : value;
    }
  }
}

void split(Function &fn, Op *loop, const Branch &branch) {
  const Block &body = *loop->blocks[0];
  Builder builder = Builder::before(fn, loop);
  builder.set_location(branch.op->location);
  Value *const count = loop->operand(0);
  Value *change = emit(builder, branch.change);
  change = builder.binary(Opcode::div_, change, builder.i64(branch.step));
  change = builder.binary(Opcode::max_, change, builder.i64(0));
  change = builder.binary(Opcode::min_, change, builder.cast(count, Elem::i64));
  Value *const first = builder.cast(change, Elem::i32);
  std::vector<Value *> carried(loop->operands.begin() + 1, loop->operands.end());
  for (bool is_first : {true, false}) {
    builder.set_location(loop->location);
    Op *part = builder.for_loop(is_first ? first : builder.sub(count, first), carried);
    Block &block = *part->blocks[0];
    Builder inside(fn, &block);
    inside.set_location(loop->location);
    Copies copies;
    for (size_t i = 0; i < body.arguments.size(); i++) {
      block.arguments[i]->name = body.arguments[i]->name;
      copies[body.arguments[i]] = block.arguments[i];
    }
    if (!is_first)
      copies[body.arguments[0]] = inside.add(block.arguments[0], first);
    emit(inside, body, branch, is_first == branch.starts_true, copies);
    carried = part->results;
  }
  for (size_t i = 0; i < loop->results.size(); i++) {
    carried[i]->name = loop->results[i]->name;
    replace_uses(*fn.body, loop->results[i], carried[i]);
  }
  erase(loop);
}

} // namespace

void split_loop_at_condition(Function &fn, const Schedule &schedule) {
  if (!schedule.is_warp_specialized())
    return;
  std::vector<Op *> loops;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::for_loop_) && has_dot(*op.blocks[0]))
      loops.push_back(&op);
  });
  for (auto loop = loops.rbegin(); loop != loops.rend(); loop++) // inner loops first
    for (Op *op : (*loop)->blocks[0]->ops)
      if (op->is(Opcode::if_else_))
        if (std::optional<Branch> branch = branch_of(op, **loop)) {
          split(fn, *loop, *branch);
          break;
        }
}

} // namespace tritonc
