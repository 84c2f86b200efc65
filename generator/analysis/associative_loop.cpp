// Finds a loop that only reduces. See associative_loop.h.
//
// A carried value is a total of one operation, or an iteration replaces it where a predicate is true:
//
//     %better = cmp %x, %best {pred = "gt"}          best: the key, a total by max
//     %best.1 = select %better, %x, %best
//     %at.1 = select %better, %place, %at            at: a total by min, at the key
//
// find_key_order shows that the key is a maximum or minimum, and whether the first or the last of
// equal elements counts. The first place is the smallest one, if the places grow from iteration to
// iteration. So the parts of the iterations may be combined in any order.
//
// Tested by tests/unit/analysis/associative_loop_test.cpp.

#include "analysis/associative_loop.h"

#include "analysis/affine.h"
#include "analysis/key_order.h"
#include "analysis/launch_config.h"

#include <algorithm>
#include <limits>
#include <set>

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

// The integer that changes no total.
int64_t identity_of(std::string_view op, Elem elem) {
  const int64_t largest = int64_t((uint64_t(1) << (bits_of(elem) - 1)) - 1);
  return op == "min" ? largest : op == "max" ? -largest - 1 : op == "and" || op == "umin" ? -1 : 0;
}

// The reductions of `tile` by one operation, one after the other.
struct Reductions {
  Value *result;
  std::vector<int64_t> axes = {};
};

// Those by `op`, if nothing else uses the tiles between them. `others`: the users of `tile` that
// are no reduction.
Reductions reductions_of(Function &fn, Value *tile, std::string_view op, size_t others = 0) {
  Reductions found{tile};
  while (true) {
    std::vector<Op *> users = users_of(*fn.body, found.result);
    auto reduce = std::find_if(users.begin(), users.end(), [&](const Op *user) {
      return user->is(Opcode::reduce_) && user->parent == fn.body && user->get(attr::op_) == op;
    });
    if (reduce == users.end() || users.size() != others + 1)
      return found;
    found.axes.push_back((*reduce)->get(attr::axis_));
    found.result = (*reduce)->result();
    others = 0;
  }
}

// --- A key, and values at the key. ---------------------------------------------------------------

// Carried values that an iteration replaces together, where `predicate` is true.
struct Choice {
  const Value *predicate = nullptr;
  std::vector<size_t> carried = {};
  size_t key = 0;
  KeyOrder order = {};
};

// The select that makes the next value of carried value `i`, if it keeps the old value elsewhere.
const Op *select_of(Op &loop, size_t i) {
  Block &body = *loop.blocks[0];
  const Op *next = body.terminator()->operand(i)->op;
  bool replaces = next && next->is(Opcode::select_) && next->parent == &body &&
                  next->operand(2) == body.arguments[i + 1] && uses(body, next->result()) == 1;
  return replaces ? next : nullptr;
}

std::vector<Choice> find_choices(Op &loop) {
  std::vector<Choice> choices;
  for (size_t i = 0; i < loop.results.size(); i++) {
    const Op *select = select_of(loop, i);
    if (!select)
      continue;
    auto same = [&](const Choice &one) { return one.predicate == select->operand(0); };
    auto choice = std::find_if(choices.begin(), choices.end(), same);
    if (choice == choices.end())
      choice = choices.insert(choice, {.predicate = select->operand(0)});
    choice->carried.push_back(i);
  }
  return choices;
}

// The sign of the difference between `value` in an iteration and in the iteration before; 0 if both
// are equal, nothing if it is unknown.
std::optional<int64_t> growth_of(const Value *value, Block &body) {
  const Value *counter = body.arguments[0];
  if (!is_integer(value->type.elem))
    return std::nullopt;
  std::optional<Affine> form = affine_of(value);
  if (!form || form->base)
    return std::nullopt;
  int64_t growth = 0;
  auto depends = [&](const Poly &poly, bool is_offset) {
    for (const auto &[monomial, coefficient] : poly.terms)
      for (const Value *symbol : monomial) {
        if (is_offset && symbol == counter && monomial.size() == 1)
          growth = coefficient;
        else if (!defined_outside(symbol, &body))
          return true;
      }
    return false;
  };
  bool is_unknown = depends(form->offset, true);
  for (const Poly &stride : form->strides)
    is_unknown |= depends(stride, false);
  return is_unknown ? std::nullopt : std::optional(growth);
}

// The operation that finds the value at the key which the loop finds. Of equal keys, the loop takes
// the first or the last. If the values grow, or shrink, this is the smallest or the largest value.
const char *operation_at_key(const Choice &choice, int64_t growth) {
  return (growth >= 0) == choice.order.takes_last ? "max" : "min";
}

// Finds the key of the choice, and its order. Each carried value must be used by its select only,
// and the key by the predicate, too.
bool find_order(Op &loop, Choice &choice) {
  Block &body = *loop.blocks[0];
  size_t keys = 0;
  for (size_t i : choice.carried)
    if (uses(body, body.arguments[i + 1]) != 1) {
      choice.key = i;
      keys++;
    }
  if (keys != 1 || uses(body, choice.predicate) != choice.carried.size())
    return false;
  std::optional<KeyOrder> order =
      find_key_order(body, choice.predicate, body.arguments[choice.key + 1],
                     select_of(loop, choice.key)->operand(1), loop.operand(choice.key + 1));
  if (order)
    choice.order = *order;
  return order.has_value();
}

// Whether `op` computes from a result of the loop.
bool depends_on(const Op &loop, const Value *value) {
  std::set<const Op *> ops;
  if (value->op)
    add_with_operands(value->op, ops);
  return ops.contains(&loop);
}

// Whether all elements of `tile` along the reduced axes are the result of these reductions.
bool repeats(const Value *tile, const Reductions &reductions) {
  const Value *value = tile;
  if (reductions.result->type.is_scalar())
    return scalar_of(tile) == reductions.result;
  if (value->op && value->op->is(Opcode::broadcast_))
    value = value->op->operand(0);
  return reductions.axes.size() == 1 && value->op && value->op->is(Opcode::expand_) &&
         value->op->get(attr::axis_) == reductions.axes[0] &&
         value->op->operand(0) == reductions.result;
}

// The result of
//
//     %at_key = cmp %keys, repeated {pred = "eq"}       repeated: the result of `keys`
//     %chosen = select %at_key, %values, %none          none: the identity of `op`
//     %r = reduce %chosen {op = `op`}                   along the axes of `keys`
//
// for these `values`, perhaps after the addition of other values. If nothing else uses them.
Value *reduced_at_key(Function &fn, const Op &loop, const Value *keys, const Reductions &reduced,
                      Value *values, std::string_view op) {
  auto only_user = [&](const Value *value) -> Op * {
    std::vector<Op *> users = users_of(*fn.body, value);
    return users.size() == 1 && users[0]->parent == fn.body ? users[0] : nullptr;
  };
  Op *user = only_user(values);
  while (user && user->is(Opcode::add_) && !user->has(attr::unsigned_) &&
         !depends_on(loop, user->operand(user->operand(0) == values ? 1 : 0))) {
    values = user->result();
    user = only_user(values);
  }
  if (!user || !user->is(Opcode::select_) || user->operand(1) != values ||
      constant_of(user->operand(2)) != identity_of(op, values->type.elem))
    return nullptr;
  const Op *at_key = user->operand(0)->op;
  if (!at_key || !at_key->is(Opcode::cmp_) || at_key->get(attr::pred_) != "eq" ||
      !only_user(at_key->result()))
    return nullptr;
  const Value *other = at_key->operand(at_key->operand(0) == keys ? 1 : 0);
  if ((at_key->operand(0) != keys && at_key->operand(1) != keys) || !repeats(other, reduced))
    return nullptr;
  Reductions found = reductions_of(fn, user->result(), op);
  return found.axes == reduced.axes ? found.result : nullptr;
}

// Adds the totals of a choice to `totals`, at the numbers of the carried values.
bool add_choice(Function &fn, Op &loop, Choice &choice,
                std::vector<AssociativeLoop::Total> &totals) {
  if (!find_order(loop, choice))
    return false;
  totals[choice.key] = {choice.order.op, loop.results[choice.key]};
  std::optional<size_t> place; // a value that differs between iterations
  std::vector<size_t> others;  // values that may be anything
  for (size_t i : choice.carried) {
    if (i == choice.key)
      continue;
    std::optional<int64_t> growth = growth_of(select_of(loop, i)->operand(1), *loop.blocks[0]);
    if (growth)
      totals[i] = {operation_at_key(choice, *growth), loop.results[i], choice.key};
    else
      others.push_back(i);
    if (growth && *growth != 0)
      place = i;
  }
  // One part has the place, or all parts have the start.
  for (size_t i : others) {
    if (!place)
      return false;
    const bool is_bool = loop.results[i]->type.elem == Elem::i1;
    totals[i] = {is_bool ? "or" : "max", loop.results[i], place};
  }
  if (!others.empty())
    return true;
  // The reductions of all of them, or of none.
  Value *keys = loop.results[choice.key];
  Reductions reduced = reductions_of(fn, keys, choice.order.op, choice.carried.size() - 1);
  std::vector<Value *> results;
  for (size_t i : choice.carried)
    results.push_back(i == choice.key
                          ? reduced.result
                          : reduced_at_key(fn, loop, keys, reduced, loop.results[i], totals[i].op));
  if (!reduced.axes.empty() && std::find(results.begin(), results.end(), nullptr) == results.end())
    for (size_t i = 0; i < results.size(); i++)
      totals[choice.carried[i]].value = results[i];
  return true;
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
    Value *total = reductions_of(fn, loop.results[i], combining->name).result;
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
  Op &loop = *found.loop;
  found.totals.resize(loop.results.size());
  size_t known = 0;
  for (size_t i = 0; i < loop.results.size(); i++)
    if (const Combining *combining = combining_of(loop, i)) {
      found.totals[i] = {combining->name,
                         reductions_of(fn, loop.results[i], combining->name).result};
      known++;
    }
  for (Choice &choice : find_choices(loop)) {
    if (!add_choice(fn, loop, choice, found.totals))
      return std::nullopt;
    known += choice.carried.size();
  }
  if (known == 0 || known != loop.results.size())
    return std::nullopt;
  const Elem elem = found.totals[0].value->type.elem;
  for (const AssociativeLoop::Total &total : found.totals) {
    const Type &type = total.value->type;
    bool has_size = type.elem == elem || (type.elem != Elem::i1 && elem != Elem::i1 &&
                                          bytes_of(type.elem) == bytes_of(elem));
    if (!has_size || !type.is_number() || type.rank() >= max_rank)
      return std::nullopt;
  }
  return found;
}

Value *emit_identity(Builder &builder, std::string_view op, const Type &type) {
  const Type scalar = Type::scalar(type.elem);
  const bool is_limit = op == "min" || op == "max";
  Value *identity = is_limit && is_float(type.elem)
                        ? builder.constant_number(scalar, std::numeric_limits<double>::quiet_NaN())
                        : builder.constant(scalar, identity_of(op, type.elem));
  return type.is_scalar() ? identity : builder.splat(identity, type.shape);
}

} // namespace tritonc
