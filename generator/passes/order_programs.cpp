// order_programs: starts the programs with the most iterations first.
//
//     %p = program_id {axis = 0}            %q = program_id {axis = 0}
//                                           %n = num_programs {axis = 0}
//                                      =>   %p = %n - 1 - %q
//     for_loop %p * 2 + 2 {                 for_loop %p * 2 + 2 {
//       ...                                   ...
//       %d = dot %a, %b, %acc                 %d = dot %a, %b, %acc
//
// In causal attention, a program with later queries sees more keys. The GPU starts programs in the
// order of their ids, so the longest programs would come last. Most SMs would be idle while a few
// finish them. With the shortest programs at the end, all SMs finish at about the same time (LPT
// scheduling; R. L. Graham, "Bounds on Multiprocessing Timing Anomalies", 1969).
//
// Method:  The number of iterations grows with the id if it is computed from it by operations that keep
//          the order: sums, minima, maxima, and products and quotients with positive constants.
// Needs:   lower_to_tma, whose tensor maps need coordinates that grow with the ids.
// Ensures: the set of programs stays the same.
// Limits:  nothing happens to loops without a dot, and to axes of the grid along which the number of
//          iterations falls, does not change, or may do both.
//
// Tested by tests/unit/passes/order_programs/.

#include "passes/order_programs.h"

#include "analysis/operand_loads.h"
#include "ir/builder.h"

#include <algorithm>
#include <map>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

// How a scalar changes as an id grows.
enum class Trend { same, grows, falls, unknown };

Trend opposite(Trend trend) {
  return trend == Trend::grows ? Trend::falls : trend == Trend::falls ? Trend::grows : trend;
}

Trend both(Trend a, Trend b) {
  if (a == Trend::same || a == b)
    return b;
  return b == Trend::same ? a : Trend::unknown;
}

class Trends {
public:
  explicit Trends(int64_t axis) : axis_(axis) {}

  Trend of(const Value *value) {
    if (auto found = known_.find(value); found != known_.end())
      return found->second;
    return known_[value] = computed(value);
  }

private:
  const int64_t axis_;
  std::map<const Value *, Trend> known_;

  Trend computed(const Value *value) {
    const Op *op = value->op;
    if (!op)
      return value->block ? Trend::unknown : Trend::same; // an argument of a loop, or a parameter
    if (op->is(Opcode::program_id_))
      return op->get(attr::axis_) == axis_ ? Trend::grows : Trend::same;
    if (info(op->code).effect != Effect::pure || !op->blocks.empty())
      return Trend::unknown;
    if (std::all_of(op->operands.begin(), op->operands.end(),
                    [&](const Value *operand) { return of(operand) == Trend::same; }))
      return Trend::same;
    switch (op->code) {
    case Opcode::cast_:
      return is_integer(value->type.elem) ? of(op->operand(0)) : Trend::unknown;
    case Opcode::add_:
    case Opcode::min_:
    case Opcode::max_:
      return both(of(op->operand(0)), of(op->operand(1)));
    case Opcode::sub_:
      return both(of(op->operand(0)), opposite(of(op->operand(1))));
    case Opcode::mul_:
      for (size_t i : {0, 1})
        if (std::optional<int64_t> factor = constant_of(op->operand(i)))
          return *factor > 0 ? of(op->operand(1 - i)) : opposite(of(op->operand(1 - i)));
      return Trend::unknown;
    case Opcode::div_:
      return constant_of(op->operand(1)).value_or(0) > 0 ? of(op->operand(0)) : Trend::unknown;
    default:
      return Trend::unknown;
    }
  }
};

// Lets the program with the last id along `axis` come first.
void reverse(Function &fn, int64_t axis) {
  std::vector<Op *> ids;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::program_id_) && op.get(attr::axis_) == axis)
      ids.push_back(&op);
  });
  for (Op *id : ids) {
    Value *forward = fn.new_value(id->result()->type); // placeholder in all uses
    replace_uses(*fn.body, id->result(), forward);
    Builder builder = Builder::after(fn, id);
    builder.set_location(id->location);
    Value *last = builder.num_programs(int(axis));
    last = builder.sub(last, builder.i32(1));
    replace_uses(*fn.body, forward, builder.sub(last, id->result()));
  }
}

} // namespace

void order_programs(Function &fn) {
  std::vector<const Op *> loops;
  for_each_op(*fn.body, [&](const Op &op) {
    if (op.is(Opcode::for_loop_) && has_dot(*op.blocks[0]))
      loops.push_back(&op);
  });
  for (int64_t axis : {0, 1, 2}) {
    Trends trends(axis);
    Trend trend = Trend::same;
    for (const Op *loop : loops)
      trend = both(trend, trends.of(loop->operand(0)));
    if (trend == Trend::grows)
      reverse(fn, axis);
  }
}

} // namespace tritonc
