// Finds a loop that only reduces. See associative_loop.h.
//
// Tested by tests/unit/analysis/associative_loop_test.cpp.

#include "analysis/associative_loop.h"

#include "analysis/launch_config.h"

#include <algorithm>
#include <limits>

namespace tritonc {

using namespace ir;

namespace {

// An operation that gives one total, whatever the parts are. A total starts at `zero`, or anywhere
// if repeating the start changes nothing.
struct Combining {
  Opcode code;
  const char *name;
  bool starts_at_zero;
};
constexpr Combining combinings[] = {
    {Opcode::add_, "add", true},  {Opcode::xor_, "xor", true},    {Opcode::min_, "min", false},
    {Opcode::max_, "max", false}, {Opcode::umin_, "umin", false}, {Opcode::umax_, "umax", false},
    {Opcode::and_, "and", false}, {Opcode::or_, "or", false},
};

const Combining *combining_of(const Op &op) {
  auto found = std::find_if(std::begin(combinings), std::end(combinings),
                            [&](const Combining &one) { return one.code == op.code; });
  return found == std::end(combinings) ? nullptr : found;
}

// How many operations use `value`. A loop that carries it along uses it, too.
size_t uses(Block &block, const Value *value) { return size_t(count_uses(block, value)); }

// The operation that makes carried value `i` a total; null if it is none.
const Combining *combining_of(Op &loop, size_t i) {
  Block &body = *loop.blocks[0];
  const Value *carried = body.arguments[i + 1];
  const Op *next = body.terminator()->operand(i)->op;
  const Combining *combining = next ? combining_of(*next) : nullptr;
  bool is_total = combining && next->parent == &body && uses(body, carried) == 1 &&
                  uses(body, next->result()) == 1 &&
                  (next->operand(0) == carried || next->operand(1) == carried) &&
                  (!combining->starts_at_zero || is_zero(loop.operand(i + 1)));
  return is_total ? combining : nullptr;
}

// The result of the reductions of `total` by the same operation, if nothing else uses it.
Value *reduced(Function &fn, Value *total, std::string_view op) {
  while (true) {
    std::vector<Op *> users = users_of(*fn.body, total);
    bool is_reduced = users.size() == 1 && users[0]->is(Opcode::reduce_) &&
                      users[0]->parent == fn.body && users[0]->get(attr::op_) == op;
    if (!is_reduced)
      return total;
    total = users[0]->result();
  }
}

// Whether `op` does something that must not be repeated, or in another order.
bool has_effect(const Op &op) {
  Effect effect = info(op.code).effect;
  return effect != Effect::pure && effect != Effect::read && effect != Effect::control;
}

} // namespace

std::optional<std::vector<AssociativeLoop::Total>> find_totals(Function &fn, Op &loop) {
  std::vector<AssociativeLoop::Total> totals;
  for (size_t i = 0; i < loop.results.size(); i++) {
    const Combining *combining = combining_of(loop, i);
    if (!combining)
      return std::nullopt;
    Value *total = reduced(fn, loop.results[i], combining->name);
    if (!total->type.is_number() || total->type.rank() >= max_rank)
      return std::nullopt;
    totals.push_back({combining->name, total});
  }
  return totals;
}

std::string_view total_of(Op &loop, size_t i) {
  const Combining *combining = combining_of(loop, i);
  return combining ? combining->name : "";
}

std::optional<AssociativeLoop> find_associative_loop(Function &fn) {
  AssociativeLoop found{nullptr, {}};
  int loops = 0;
  bool effects_before_end = false, effects = false;
  for_each_op(*fn.body, [&](Op &op) {
    effects |= has_effect(op);
    bool is_loop = op.is(Opcode::for_loop_) || op.is(Opcode::while_loop_);
    loops += is_loop;
    if (is_loop && op.parent == fn.body) {
      found.loop = &op;
      for_each_op(*op.blocks[0], [&](const Op &inner) { effects |= has_effect(inner); });
      effects_before_end = effects;
    }
  });
  if (loops != 1 || !found.loop || !found.loop->is(Opcode::for_loop_) || effects_before_end ||
      !host_expression(found.loop->operand(0)))
    return std::nullopt;
  std::optional<std::vector<AssociativeLoop::Total>> totals = find_totals(fn, *found.loop);
  bool is_of_type = totals && !totals->empty() &&
                    std::all_of(totals->begin(), totals->end(), [&](const auto &total) {
                      return total.value->type.elem == (*totals)[0].value->type.elem;
                    });
  if (!is_of_type)
    return std::nullopt;
  found.totals = std::move(*totals);
  return found;
}

Value *emit_identity(Builder &builder, std::string_view op, const Type &type) {
  const Type scalar = Type::scalar(type.elem);
  const bool is_signed_limit = op == "min" || op == "max";
  Value *identity;
  if (is_signed_limit && is_float(type.elem)) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    identity = builder.constant_number(scalar, op == "min" ? infinity : -infinity);
  } else if (is_signed_limit) {
    const int64_t largest = int64_t((uint64_t(1) << (bits_of(type.elem) - 1)) - 1);
    identity = builder.constant(scalar, op == "min" ? largest : -largest - 1);
  } else {
    identity = builder.constant(scalar, op == "and" || op == "umin" ? -1 : 0);
  }
  return type.is_scalar() ? identity : builder.splat(identity, type.shape);
}

} // namespace tritonc
