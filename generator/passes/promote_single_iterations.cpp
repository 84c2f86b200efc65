// promote_single_iterations: turns loops that run once into straight code.
//
//     %sum = for_loop %n, %zero {             launch_requires %n, 1
//       (%t, %acc)                            %x = load view(0), %mask
//       %x = load view(%t), %mask             %sum = add %zero, %x
//       %s = add %acc, %x                     store %p, %x, %mask
//       yield %s
//     }                                 =>
//     for_loop %n {
//       (%u)
//       %y = load view(%u), %mask
//       store %p, %y, %mask
//       yield
//     }
//
// A row that fits into one tile needs no loops: it stays in registers, and memory is read once.
//
// Method:  The launch takes this schedule only if each loop runs once. The code of the loop takes
//          the place of the loop, with counter 0 and the initial values. A load of the same elements
//          as an earlier load becomes that load. A minimum or maximum starts from the elements, and
//          is combined with its initial value last.
// Needs:   canonical loops (expand_inductions) and views (form_views).
// Ensures: no loop of the function's body remains.
// Limits:  inner loops stay.
//
// Tested by tests/unit/passes/promote_single_iterations/.

#include "passes/promote_single_iterations.h"

#include "analysis/launch_config.h"
#include "analysis/repeated_loads.h"
#include "analysis/same_value.h"
#include "ir/builder.h"

#include <algorithm>
#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

std::vector<Op *> loops_of(Function &fn) {
  std::vector<Op *> loops;
  std::copy_if(fn.body->ops.begin(), fn.body->ops.end(), std::back_inserter(loops),
               [](const Op *op) { return op->is(Opcode::for_loop_); });
  return loops;
}

// Requires that each loop runs once; loops with the same number of iterations need this once.
void require_single_iterations(Function &fn, const std::vector<Op *> &loops) {
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
    Value *one = builder.i32(1);
    builder.create(Opcode::launch_requires_, {count, one})->set(attr::text_, "each loop runs once");
  }
}

void promote(Function &fn, Op *loop) {
  Block &body = *loop->blocks[0];
  Builder builder = Builder::before(fn, loop);
  builder.set_location(loop->location);
  replace_uses(body, body.arguments[0], builder.i32(0));
  for (size_t i = 0; i < loop->results.size(); i++)
    replace_uses(body, body.arguments[i + 1], loop->operand(i + 1));
  for (size_t i = 0; i < loop->results.size(); i++)
    replace_uses(*fn.body, loop->results[i], body.terminator()->operand(i));
  std::vector<Op *> moved(body.ops.begin(), body.ops.end() - 1);
  body.ops.erase(body.ops.begin(), body.ops.end() - 1);
  for (Op *op : moved)
    op->parent = fn.body;
  auto at = fn.body->ops.begin() + int64_t(fn.body->position_of(loop));
  fn.body->ops.insert(at, moved.begin(), moved.end());
  erase(loop);
}

// Replaces each load of the body by an earlier load of the same elements, if there is one.
void merge_loads(Function &fn) {
  for (const auto &[load, earlier] : find_repeated_loads_of_body(fn)) {
    Builder builder = Builder::before(fn, load);
    builder.set_location(load->location);
    replace_uses(*fn.body, load->result(),
                 emit_repeat(builder, earlier->result(), *earlier, *load));
    erase(load);
  }
}

// Combines a minimum or maximum with its initial value after the reduction: once, not for each
// element.
void start_after_reducing(Function &fn, Op *reduce) {
  const std::string name(reduce->get(attr::op_));
  const bool has_one_order = name == "min" || name == "max" || name == "umin" || name == "umax";
  Op *combined = reduce->operand(0)->op;
  if (!has_one_order || !combined || combined->code != *combining_op(name) ||
      count_uses(*fn.body, combined->result()) > 1)
    return;
  for (size_t i : {0, 1}) {
    Value *start = const_cast<Value *>(scalar_of(combined->operand(i)));
    if (!start || !start->type.is_scalar())
      continue;
    reduce->operands[0] = combined->operand(1 - i);
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
}

} // namespace

bool try_promoting(Function &fn) {
  std::vector<Op *> loops = loops_of(fn);
  bool are_known = std::all_of(loops.begin(), loops.end(), [](const Op *loop) {
    return host_expression(loop->operand(0)).has_value();
  });
  if (loops.empty() || !are_known)
    return false;
  require_single_iterations(fn, loops);
  for (Op *loop : loops)
    promote(fn, loop);
  merge_loads(fn);
  for (Op *op : std::vector<Op *>(fn.body->ops))
    if (op->is(Opcode::reduce_))
      start_after_reducing(fn, op);
  return true;
}

void promote_single_iterations(Function &fn, const Schedule &schedule) {
  if (!schedule.one_iteration)
    return;
  [[maybe_unused]] bool is_promoted = try_promoting(fn);
  assert(is_promoted && "candidate_schedules has looked");
}

} // namespace tritonc
