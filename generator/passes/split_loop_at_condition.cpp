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
//
//          A condition may be an `and` or `or` of such comparisons. In each of the two loops, one of
//          them is known, and the loop may be divided again. So attention with a sliding window has
//          three loops: the first and the last one have a mask.
// Needs:   for_loops (uplift_while_to_for). overlap_dots, which changes what an iteration does.
// Ensures: in each new loop, one comparison less decides about a branch.
// Limits:  nothing happens unless the schedule is warp-specialized, or in loops without a dot.
//          Unsigned comparisons stay. A loop becomes at most four loops.
//
// Tested by tests/unit/passes/split_loop_at_condition/ and split_loop_at_condition_test.cpp.

#include "passes/split_loop_at_condition.h"

#include "analysis/affine.h"
#include "analysis/operand_loads.h"
#include "ir/builder.h"

#include <algorithm>
#include <map>
#include <optional>

namespace tritonc {

using namespace ir;

namespace {

// A comparison that changes once: it is true in the iterations before `change`, or from `change` on.
struct Comparison {
  const Op *op; // cmp
  Poly change; // the quotient `change` / `step`, rounded down, is the iteration; may be less than 0
  int64_t step;
  bool starts_true;
};

// Where `rest` + `step` * counter <= 0 ceases to hold: at the iteration (step - rest) / step.
std::optional<Comparison> comparison_of(const Op *compare, const Op &loop) {
  if (!compare->is(Opcode::cmp_) || !compare->operand(0)->type.is_scalar() ||
      !is_integer(compare->operand(0)->type.elem))
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
  return Comparison{compare, Poly::constant(*step) - rest, *step, is_less};
}

// Such a comparison that `condition` depends on, by `and` and `or`.
std::optional<Comparison> find_comparison(const Value *condition, const Op &loop) {
  const Op *op = condition->op;
  if (!op || op->parent != loop.blocks[0])
    return std::nullopt;
  if (!op->is(Opcode::and_) && !op->is(Opcode::or_))
    return comparison_of(op, loop);
  std::optional<Comparison> found = find_comparison(op->operand(0), loop);
  return found ? found : find_comparison(op->operand(1), loop);
}

// Copies the operations of a loop for iterations in which a comparison is known.
class KnownIterations {
public:
  KnownIterations(Builder &builder, Copies &copies, const Comparison &comparison, bool is_true)
      : builder_(builder), copies_(copies) {
    know(comparison.op->result(), is_true);
  }

  // Appends the operations of `from` to the builder's block. A branch with a known condition becomes
  // the block that it takes.
  void emit(const Block &from) {
    for (const Op *op : from.ops) {
      if ((op->is(Opcode::and_) || op->is(Opcode::or_)) &&
          op->result()->type == Type::scalar(Elem::i1))
        simplify(*op);
      if (op->is(Opcode::if_else_) && known_.count(op->operand(0)))
        take(*op, *op->blocks[known_[op->operand(0)] ? 0 : 1]);
      else if (op->results.empty() || !copies_.count(op->results[0]))
        builder_.copy(*op, copies_);
    }
  }

private:
  Builder &builder_;
  Copies &copies_;
  std::map<const Value *, bool> known_;

  void know(const Value *value, bool is_true) {
    known_[value] = is_true;
    copies_[value] = builder_.constant(Type::scalar(Elem::i1), is_true);
  }

  std::optional<bool> value_of(const Value *value) const {
    if (auto found = known_.find(value); found != known_.end())
      return found->second;
    std::optional<int64_t> constant = constant_of(value);
    return constant ? std::optional(*constant != 0) : std::nullopt;
  }

  void simplify(const Op &op) {
    const std::optional<bool> values[] = {value_of(op.operand(0)), value_of(op.operand(1))};
    const bool decides = op.is(Opcode::or_); // the value of an operand that decides
    if (values[0] == decides || values[1] == decides)
      know(op.result(), decides);
    else if (values[0] && values[1])
      know(op.result(), !decides);
    else if (values[0] || values[1])
      copies_[op.result()] = copy_of(op.operand(values[0] ? 1 : 0));
  }

  void take(const Op &branch, const Block &taken) {
    for (const Op *inner : taken.ops)
      if (inner != taken.terminator())
        builder_.copy(*inner, copies_);
    for (size_t i = 0; i < branch.results.size(); i++)
      copies_[branch.results[i]] = copy_of(taken.terminator()->operand(i));
  }

  Value *copy_of(const Value *value) {
    auto found = copies_.find(value);
    return found == copies_.end() ? const_cast<Value *>(value) : found->second;
  }
};

// Returns the two loops.
std::vector<Op *> split(Function &fn, Op *loop, const Comparison &comparison) {
  const Block &body = *loop->blocks[0];
  Builder builder = Builder::before(fn, loop);
  builder.set_location(comparison.op->location);
  Value *const count = loop->operand(0);
  Value *change = emit(builder, comparison.change);
  change = builder.binary(Opcode::div_, change, builder.i64(comparison.step));
  change = builder.binary(Opcode::max_, change, builder.i64(0));
  change = builder.binary(Opcode::min_, change, builder.cast(count, Elem::i64));
  Value *const first = builder.cast(change, Elem::i32);
  std::vector<Value *> carried(loop->operands.begin() + 1, loop->operands.end());
  std::vector<Op *> parts;
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
    KnownIterations(inside, copies, comparison, is_first == comparison.starts_true).emit(body);
    carried = part->results;
    parts.push_back(part);
  }
  for (size_t i = 0; i < loop->results.size(); i++) {
    carried[i]->name = loop->results[i]->name;
    replace_uses(*fn.body, loop->results[i], carried[i]);
  }
  erase(loop);
  return parts;
}

// Divides the loop, and its parts. Returns how many loops there are.
int split_all(Function &fn, Op *loop, int max_parts) {
  for (const Op *op : loop->blocks[0]->ops) {
    if (max_parts == 1 || !op->is(Opcode::if_else_))
      continue;
    if (std::optional<Comparison> found = find_comparison(op->operand(0), *loop)) {
      const std::vector<Op *> parts = split(fn, loop, *found);
      const int count = split_all(fn, parts[0], max_parts - 1);
      return count + split_all(fn, parts[1], max_parts - count);
    }
  }
  return 1;
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
  constexpr int max_parts = 4;
  for (auto loop = loops.rbegin(); loop != loops.rend(); loop++) // inner loops first
    split_all(fn, *loop, max_parts);
}

} // namespace tritonc
