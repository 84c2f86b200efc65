// Finds a loop that only reduces. See associative_loop.h.
//
// A carried value is a total of one operation, such as the accumulator of a dot, or an iteration replaces
// it where a predicate is true:
//
//     %better = cmp %x, %best {pred = "gt"}          best: the key, a total by max
//     %best.1 = select %better, %x, %best
//     %at.1 = select %better, %place, %at            at: a total by min, at the key
//
// find_key_order shows that the key is a maximum or minimum, and whether the first or the last of
// equal elements counts. The first place is the smallest one, if the places grow from iteration to
// iteration. So the parts of the iterations may be combined in any order.
//
// Or an iteration rescales a sum to a new key:
//
//     %larger = max %key, %x                         key: a total by max
//     %old = mul %sum, exp(%key - %larger)           sum: a total by add, rescaled
//     %sum.1 = add %old, exp(%x - %larger)
//
// A larger key multiplies all terms by the same factor, exp(key - larger), and
// exp(a - b) * exp(b - c) = exp(a - c). So it does not matter when a sum is rescaled. A sum may have
// more axes than its key, and a dot may add the terms:
//
//     %old = mul %sum, expand exp(%key - %larger)
//     %sum.1 = dot exp(%x - expand %larger), %v, %old
//
// Attention guards against keys of -infinity, or of the least number, which mean "no element so far":
//
//     %none = cmp %larger, -infinity {pred = "eq"}
//     %reference = select %none, 0, %larger
//
// The reference counts as the key. Where they differ, the key is so small that any larger key multiplies
// the terms by 0.
//
// Tested by tests/unit/analysis/associative_loop_test.cpp.

#include "analysis/associative_loop.h"

#include "analysis/affine.h"
#include "analysis/key_order.h"
#include "analysis/launch_config.h"
#include "analysis/matmul_loop.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
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

// Whether carried value `i` is the accumulator of a dot, and starts at zero.
bool is_accumulator(const Function &fn, const Op &loop, size_t i) {
  const Op *next = loop.blocks[0]->terminator()->operand(i)->op;
  return next && next->is(Opcode::dot_) && next->parent == loop.blocks[0] &&
         carried_accumulator(fn, *next) == i && is_zero(loop.operand(i + 1));
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

// --- Rescaled sums. ------------------------------------------------------------------------------

// A number times a scalar; null: 1.
struct Factor {
  double number = 0;
  Value *scalar = nullptr;
};

// exp(scalar * (own * the own key + key * the key) + more). The keys lack `axes` of the exponent.
struct Exponent {
  double own = 0, key = 0;
  Value *scalar = nullptr;
  std::vector<int64_t> axes = {};

  bool has_keys() const { return own != 0 || key != 0; }
};

std::optional<Exponent> sum_of(const Exponent &a, const Exponent &b, double sign) {
  if (a.has_keys() && b.has_keys() && (a.scalar != b.scalar || a.axes != b.axes))
    return std::nullopt;
  Exponent sum = a.has_keys() ? a : b;
  sum.own = a.own + sign * b.own;
  sum.key = a.key + sign * b.key;
  return sum;
}

bool repeats(const Op &op) {
  return op.is(Opcode::splat_) || op.is(Opcode::expand_) || op.is(Opcode::broadcast_);
}

// `axes` of the operand of `op`, which repeats it, and the new axes of the result.
std::vector<int64_t> repeated(std::vector<int64_t> axes, const Op &op) {
  if (op.is(Opcode::expand_)) {
    const int64_t axis = op.get(attr::axis_);
    for (int64_t &other : axes)
      other += other >= axis;
    axes.push_back(axis);
  }
  if (op.is(Opcode::splat_))
    for (int axis = 0; axis < op.result()->type.rank(); axis++)
      axes.push_back(axis);
  std::sort(axes.begin(), axes.end());
  return axes;
}

// Finds exponents of two keys, and notes the operations that compute from the keys.
struct Exponents {
  std::function<bool(const Value *)> is_own, is_key;
  std::function<bool(const Value *)> is_other; // does not depend on the keys
  std::function<bool(const Value *)> is_outside = [](const Value *) { return false; };
  std::set<const Op *> ops = {};
  bool has_guard = false;
  // A value may have many paths to the keys: each is looked at once.
  std::map<const Value *, std::optional<Exponent>> known = {};

  // The number or scalar that all elements of `value` are.
  std::optional<Factor> factor_of(const Value *value) {
    if (std::optional<double> number = number_of(value))
      return Factor{*number};
    const Value *scalar = scalar_of(value);
    if (scalar->op && scalar->op->is(Opcode::neg_)) {
      std::optional<Factor> factor = factor_of(scalar->op->operand(0));
      return factor ? std::optional(Factor{-factor->number, factor->scalar}) : std::nullopt;
    }
    const bool is_factor =
        scalar->type.is_scalar() && is_float(scalar->type.elem) && is_outside(scalar);
    return is_factor ? std::optional(Factor{1, const_cast<Value *>(scalar)}) : std::nullopt;
  }

  std::optional<Exponent> product_of(const Value *a, const Value *b) {
    if (is_other(a) && is_other(b))
      return Exponent{};
    for (auto [value, other] : {std::pair(a, b), std::pair(b, a)})
      if (std::optional<Factor> factor = factor_of(other)) {
        std::optional<Exponent> exponent = of(value);
        if (!exponent || (exponent->scalar && factor->scalar))
          return std::nullopt;
        exponent->own *= factor->number;
        exponent->key *= factor->number;
        if (factor->scalar)
          exponent->scalar = factor->scalar;
        return exponent;
      }
    return std::nullopt;
  }

  // Whether `select` is the key, or 0 where the key is as small as it can be.
  bool is_guarded_key(const Op &select) {
    const Op *cmp = select.operand(0)->op;
    if (!cmp || !cmp->is(Opcode::cmp_))
      return false;
    const bool is_equal = cmp->get(attr::pred_) == "eq";
    if (!is_equal && cmp->get(attr::pred_) != "ne")
      return false;
    const Value *key = select.operand(is_equal ? 2 : 1), *guard = select.operand(is_equal ? 1 : 2);
    for (size_t i : {0, 1}) {
      std::optional<double> least = number_of(cmp->operand(1 - i));
      if (cmp->operand(i) == key && is_key(key) && is_zero(guard) && least &&
          *least <= -double(std::numeric_limits<float>::max())) {
        ops.insert(cmp);
        has_guard = true;
        return true;
      }
    }
    return false;
  }

  std::optional<Exponent> of(const Value *value) {
    auto [found, is_new] = known.try_emplace(value);
    if (is_new)
      found->second = computed(value);
    return found->second;
  }

  std::optional<Exponent> computed(const Value *value) {
    if (is_own(value))
      return Exponent{.own = 1};
    if (is_key(value))
      return Exponent{.key = 1};
    if (is_other(value))
      return Exponent{};
    if (!value->op)
      return std::nullopt;
    const Op &op = *value->op;
    ops.insert(&op);
    switch (op.code) {
    case Opcode::splat_:
    case Opcode::expand_:
    case Opcode::broadcast_: {
      std::optional<Exponent> exponent = of(op.operand(0));
      if (exponent && exponent->has_keys())
        exponent->axes = repeated(std::move(exponent->axes), op);
      return exponent;
    }
    case Opcode::add_:
    case Opcode::sub_: {
      std::optional<Exponent> a = of(op.operand(0)), b = of(op.operand(1));
      return a && b ? sum_of(*a, *b, op.is(Opcode::add_) ? 1 : -1) : std::nullopt;
    }
    case Opcode::fma_: {
      std::optional<Exponent> a = product_of(op.operand(0), op.operand(1)), b = of(op.operand(2));
      return a && b ? sum_of(*a, *b, 1) : std::nullopt;
    }
    case Opcode::mul_:
      return product_of(op.operand(0), op.operand(1));
    case Opcode::neg_: {
      std::optional<Exponent> exponent = of(op.operand(0));
      return exponent ? sum_of({}, *exponent, -1) : std::nullopt;
    }
    case Opcode::select_:
      return is_guarded_key(op) ? std::optional(Exponent{.key = 1}) : std::nullopt;
    default:
      return std::nullopt;
    }
  }

  // The rescaling from `own` to the key by `factor`.
  std::optional<AssociativeLoop::Rescaling> rescaling_of(const Value *factor) {
    if (!factor->op)
      return std::nullopt;
    const Op &op = *factor->op;
    ops.insert(&op);
    if (repeats(op)) {
      std::optional<AssociativeLoop::Rescaling> rescaling = rescaling_of(op.operand(0));
      if (rescaling)
        rescaling->axes = repeated(std::move(rescaling->axes), op);
      return rescaling;
    }
    if (!op.is(Opcode::exp_) && !op.is(Opcode::exp2_))
      return std::nullopt;
    std::optional<Exponent> exponent = of(op.operand(0));
    if (!exponent || exponent->own == 0 || exponent->key != -exponent->own ||
        (!exponent->scalar && exponent->own < 0))
      return std::nullopt;
    return AssociativeLoop::Rescaling{op.code, exponent->own, exponent->scalar, exponent->axes};
  }

  // Whether `terms` are multiples of exp(-scale * key), where the key lacks the axes of `rescaling`.
  bool are_multiples(const Value *terms, const AssociativeLoop::Rescaling &rescaling) {
    std::optional<Multiples> found = Terms{*this, rescaling}.of(terms);
    return found && (found->are_zero || found->axes == rescaling.axes);
  }

  // The same for the products that `dot` adds.
  bool adds_multiples(const Op &dot, const AssociativeLoop::Rescaling &rescaling) {
    std::optional<Multiples> found = Terms{*this, rescaling}.products_of(dot);
    return found && (found->are_zero || found->axes == rescaling.axes);
  }

private:
  // Multiples of exp(-scale * key). The key lacks `axes`. Zeros are multiples for any key.
  struct Multiples {
    bool are_zero = false;
    std::vector<int64_t> axes = {};
  };

  static bool has(const std::vector<int64_t> &axes, int64_t axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  }

  static std::optional<Multiples> both(const std::optional<Multiples> &a,
                                       const std::optional<Multiples> &b) {
    if (!a || !b)
      return std::nullopt;
    if (a->are_zero || b->are_zero)
      return a->are_zero ? b : a;
    return a->axes == b->axes ? a : std::nullopt;
  }

  // Finds what the terms of a sum with this rescaling are multiples of.
  struct Terms {
    Exponents &exponents;
    const AssociativeLoop::Rescaling &rescaling;
    std::map<const Value *, std::optional<Multiples>> known = {};

    std::optional<Multiples> of(const Value *terms) {
      auto [found, is_new] = known.try_emplace(terms);
      if (is_new)
        found->second = computed(terms);
      return found->second;
    }

    std::optional<Multiples> computed(const Value *terms) {
      if (is_zero(terms))
        return Multiples{.are_zero = true};
      if (!terms->op || exponents.is_other(terms))
        return std::nullopt;
      const Op &op = *terms->op;
      exponents.ops.insert(&op);
      auto multiples = [&](size_t i) { return of(op.operand(i)); };
      auto other = [&](size_t i) { return exponents.is_other(op.operand(i)); };
      auto product = [&] {
        return other(0) ? multiples(1) : other(1) ? multiples(0) : std::nullopt;
      };
      switch (op.code) {
      case Opcode::exp_:
      case Opcode::exp2_: {
        std::optional<Exponent> exponent = exponents.of(op.operand(0));
        const bool is_multiple = op.code == rescaling.exp && exponent && exponent->own == 0 &&
                                 exponent->key == -rescaling.number &&
                                 exponent->scalar == rescaling.scalar;
        return is_multiple ? std::optional(Multiples{.axes = exponent->axes}) : std::nullopt;
      }
      case Opcode::add_:
      case Opcode::sub_:
        return both(multiples(0), multiples(1));
      case Opcode::select_:
        return other(0) ? both(multiples(1), multiples(2)) : std::nullopt;
      case Opcode::mul_:
        return product();
      case Opcode::fma_:
        return both(product(), multiples(2));
      case Opcode::dot_:
        return both(products_of(op), multiples(2));
      case Opcode::cast_:
        return is_float(op.result()->type.elem) ? multiples(0) : std::nullopt;
      case Opcode::splat_:
      case Opcode::expand_:
      case Opcode::broadcast_: {
        std::optional<Multiples> found = multiples(0);
        if (found)
          found->axes = repeated(std::move(found->axes), op);
        return found;
      }
      case Opcode::reduce_: {
        std::optional<Multiples> found = multiples(0);
        const int64_t axis = op.get(attr::axis_);
        if (!found || op.get(attr::op_) != "add" || !has(found->axes, axis))
          return std::nullopt;
        std::erase(found->axes, axis);
        for (int64_t &other : found->axes)
          other -= other > axis;
        return found;
      }
      default:
        return std::nullopt;
      }
    }

    // The products that `dot` adds.
    std::optional<Multiples> products_of(const Op &dot) {
      for (int64_t number : {0, 1}) {
        if (!exponents.is_other(dot.operand(size_t(1 - number))))
          continue;
        const int64_t summed = 1 - number, kept = number;
        std::optional<Multiples> found = of(dot.operand(size_t(number)));
        if (!found || found->are_zero)
          return found;
        if (!has(found->axes, summed))
          return std::nullopt;
        std::vector<int64_t> axes = {1 - kept}; // of the result: that of the other operand
        if (has(found->axes, kept))
          axes.insert(kept ? axes.end() : axes.begin(), kept);
        return Multiples{.axes = axes};
      }
      return std::nullopt;
    }
  };
};

// The operations of `body` that depend on `value`.
std::set<const Op *> dependents_of(Block &body, const Value *value) {
  std::set<const Value *> values = {value};
  std::set<const Op *> found;
  for (Op *op : body.ops) {
    bool depends = false;
    auto look = [&](const Op &inner) {
      depends |= std::any_of(inner.operands.begin(), inner.operands.end(),
                             [&](const Value *operand) { return values.contains(operand); });
    };
    look(*op);
    for (Block *block : op->blocks)
      for_each_op(*block, look);
    if (!depends || op->is(Opcode::yield_))
      continue;
    found.insert(op);
    values.insert(op->results.begin(), op->results.end());
  }
  return found;
}

// Carried value `i` as a sum that is rescaled to the key of `exponents`.
std::optional<RescaledSum> rescaled_sum(Op &loop, size_t i, Exponents &exponents) {
  Block &body = *loop.blocks[0];
  const Value *carried = body.arguments[i + 1];
  const Op *next = body.terminator()->operand(i)->op;
  const bool is_sum = next && (next->is(Opcode::add_) || next->is(Opcode::dot_));
  if (!is_sum || next->parent != &body || !is_zero(loop.operand(i + 1)) ||
      uses(body, carried) != 1 || uses(body, next->result()) != 1)
    return std::nullopt;
  for (size_t k = next->is(Opcode::dot_) ? 2 : 0; k < next->operands.size(); k++) {
    const Op *mul = next->operand(k)->op;
    if (!mul || !mul->is(Opcode::mul_) || uses(body, mul->result()) != 1 ||
        (mul->operand(0) != carried && mul->operand(1) != carried))
      continue;
    const Value *factor = mul->operand(mul->operand(0) == carried ? 1 : 0);
    std::optional<AssociativeLoop::Rescaling> rescaling = exponents.rescaling_of(factor);
    if (!rescaling)
      return std::nullopt;
    const bool are_multiples = next->is(Opcode::dot_)
                                   ? exponents.adds_multiples(*next, *rescaling)
                                   : exponents.are_multiples(next->operand(1 - k), *rescaling);
    if (!are_multiples)
      return std::nullopt;
    exponents.ops.insert({next, mul});
    return RescaledSum{.sum = i,
                       .terms = next->is(Opcode::dot_) ? nullptr : next->operand(1 - k),
                       .rescaling = *rescaling};
  }
  return std::nullopt;
}

// The value of `total`, a rescaled sum with the results `sum` and `key` of a loop, in
//
//     %scaled = mul %sum, exp(%key - repeated)          repeated: the result of `reduced`
//     %r = reduce %scaled {op = "add"}                  along the axes of `reduced`
//
// if nothing else uses the sum. Adds the operations to `ops`.
Value *reduced_rescaled(Function &fn, Value *sum, const Value *key, const Reductions &reduced,
                        const AssociativeLoop::Rescaling &rescaling, std::set<const Op *> &ops) {
  std::vector<Op *> users = users_of(*fn.body, sum);
  if (users.size() != 1 || !users[0]->is(Opcode::mul_) || users[0]->parent != fn.body)
    return nullptr;
  const Op &mul = *users[0];
  Exponents exponents{.is_own = [&](const Value *value) { return value == key; },
                      .is_key = [&](const Value *value) { return repeats(value, reduced); },
                      .is_other = [](const Value *) { return false; },
                      .is_outside = [&](const Value *value) { return value == rescaling.scalar; }};
  std::optional<AssociativeLoop::Rescaling> found =
      exponents.rescaling_of(mul.operand(mul.operand(0) == sum ? 1 : 0));
  if (!found || found->exp != rescaling.exp || found->number != rescaling.number ||
      found->scalar != rescaling.scalar)
    return nullptr;
  ops.merge(exponents.ops);
  Reductions sums = reductions_of(fn, mul.result(), "add");
  return sums.axes == reduced.axes ? sums.result : nullptr;
}

// Adds the totals of the sums that are rescaled to `key`. They are the reductions of all of them, or
// of none.
void add_rescaled(Function &fn, Op &loop, size_t key, const std::vector<RescaledSum> &sums,
                  std::vector<AssociativeLoop::Total> &totals) {
  Value *keys = loop.results[key];
  totals[key] = {"max", keys};
  for (const RescaledSum &sum : sums)
    totals[sum.sum] = {"add", loop.results[sum.sum], key, sum.rescaling};
  std::vector<Op *> users = users_of(*fn.body, keys);
  const Reductions reduced =
      users.empty() ? Reductions{keys} : reductions_of(fn, keys, "max", users.size() - 1);
  if (reduced.axes.empty())
    return;
  std::set<const Op *> ops;
  std::vector<Value *> results;
  for (const RescaledSum &sum : sums)
    results.push_back(
        reduced_rescaled(fn, loop.results[sum.sum], keys, reduced, sum.rescaling, ops));
  const bool is_reduced = std::find(results.begin(), results.end(), nullptr) == results.end() &&
                          std::all_of(users.begin(), users.end(), [&](const Op *user) {
                            return user->is(Opcode::reduce_) || ops.contains(user);
                          });
  if (!is_reduced)
    return;
  totals[key].value = reduced.result;
  for (size_t i = 0; i < sums.size(); i++)
    totals[sums[i].sum].value = results[i];
}

// Adds the totals of all rescaled sums, and of their keys. Returns how many there are.
size_t add_rescaled(Function &fn, Op &loop, std::vector<AssociativeLoop::Total> &totals) {
  std::map<size_t, std::vector<RescaledSum>> of_key;
  for (const RescaledSum &sum : find_rescaled_sums(loop))
    of_key[sum.key].push_back(sum);
  size_t count = 0;
  for (const auto &[key, sums] : of_key) {
    add_rescaled(fn, loop, key, sums, totals);
    count += 1 + sums.size();
  }
  return count;
}

// The loop of the matmul, or the only loop. Null: there is none, or it is not of the function's body.
Op *loop_to_divide(Function &fn, const std::optional<MatmulLoop> &matmul) {
  std::vector<Op *> loops;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::for_loop_) || op.is(Opcode::while_loop_))
      loops.push_back(&op);
  });
  Op *loop = matmul ? matmul->loop : loops.size() == 1 ? loops[0] : nullptr;
  return loop && loop->is(Opcode::for_loop_) && loop->parent == fn.body ? loop : nullptr;
}

// Whether something before the end of the loop must not be repeated, or in another order.
bool has_effects(Function &fn, const Op &loop) {
  bool found = false;
  auto look_at = [&](const Op &op) {
    const Effect effect = info(op.code).effect;
    found |= effect != Effect::pure && effect != Effect::read && effect != Effect::control &&
             effect != Effect::host;
  };
  const size_t end = fn.body->position_of(&loop);
  for (size_t i = 0; i <= end; i++) {
    look_at(*fn.body->ops[i]);
    for (Block *block : fn.body->ops[i]->blocks)
      for_each_op(*block, look_at);
  }
  return found;
}

} // namespace

std::optional<std::vector<AssociativeLoop::Total>> find_totals(Function &fn, Op &loop) {
  std::vector<AssociativeLoop::Total> totals(loop.results.size());
  size_t known = add_rescaled(fn, loop, totals);
  for (size_t i = 0; i < loop.results.size(); i++)
    if (const Combining *combining = combining_of(loop, i)) {
      totals[i] = {combining->name, reductions_of(fn, loop.results[i], combining->name).result};
      known++;
    }
  const bool are_numbers =
      known == totals.size() && std::all_of(totals.begin(), totals.end(), [](const auto &total) {
        const Type &type = total.value->type;
        return type.is_number() && type.rank() < max_rank;
      });
  return are_numbers ? std::optional(std::move(totals)) : std::nullopt;
}

std::vector<RescaledSum> find_rescaled_sums(Op &loop) {
  Block &body = *loop.blocks[0];
  std::vector<RescaledSum> found;
  for (size_t key = 0; key < loop.results.size(); key++) {
    const Value *own = body.arguments[key + 1];
    Value *larger = body.terminator()->operand(key);
    const Op *max = larger->op;
    if (!max || !max->is(Opcode::max_) || max->parent != &body || !is_float(own->type.elem) ||
        (max->operand(0) != own && max->operand(1) != own))
      continue;
    const std::set<const Op *> dependents = dependents_of(body, own);
    auto is_other = [&](const Value *value) {
      return value != own && !(value->op && dependents.contains(value->op));
    };
    Exponents exponents{
        .is_own = [&](const Value *value) { return value == own; },
        .is_key = [&](const Value *value) { return value == larger; },
        .is_other = is_other,
        .is_outside = [&](const Value *value) { return defined_outside(value, &body); },
        .ops = {max}};
    std::vector<RescaledSum> sums;
    for (size_t i = 0; i < loop.results.size(); i++)
      if (std::optional<RescaledSum> sum = rescaled_sum(loop, i, exponents)) {
        sum->key = key;
        sum->larger = larger;
        sums.push_back(*sum);
      }
    const bool is_used_by_sums_only = is_other(max->operand(max->operand(0) == own ? 1 : 0)) &&
                                      std::includes(exponents.ops.begin(), exponents.ops.end(),
                                                    dependents.begin(), dependents.end());
    for (RescaledSum &sum : sums)
      sum.is_guarded = exponents.has_guard;
    if (!sums.empty() && is_used_by_sums_only)
      found.insert(found.end(), sums.begin(), sums.end());
  }
  return found;
}

Value *emit_factor(Builder &builder, const AssociativeLoop::Rescaling &rescaling, Value *own,
                   Value *key) {
  Value *distance = builder.sub(own, key);
  if (rescaling.number != 1)
    distance = builder.mul(distance, builder.filled(distance->type, rescaling.number));
  if (Value *scalar = rescaling.scalar)
    distance = builder.mul(distance, distance->type.is_scalar()
                                         ? scalar
                                         : builder.splat(scalar, distance->type.shape));
  return builder.unary(rescaling.exp, distance);
}

Value *emit_rescaled(Builder &builder, const AssociativeLoop::Rescaling &rescaling, Value *sum,
                     Value *own, Value *key) {
  Value *factor = emit_factor(builder, rescaling, own, key);
  // Equal keys may be infinite. A part without elements has no key.
  Value *one = builder.filled(factor->type, 1);
  factor = builder.select(builder.cmp("lt", own, key), factor, one);
  const Shape &shape = sum->type.shape;
  if (factor->type.is_scalar() && !shape.empty())
    return builder.mul(sum, builder.splat(factor, shape));
  for (int64_t axis : rescaling.axes)
    factor = builder.expand(factor, int(axis));
  return builder.mul(sum, factor->type.shape == shape ? factor : builder.broadcast(factor, shape));
}

Op *gather_totals(Function &fn, Op &loop, const std::vector<AssociativeLoop::Total> &totals) {
  std::set<const Op *> needed;
  for (const AssociativeLoop::Total &total : totals)
    add_with_operands(total.value->op, needed);
  std::vector<Op *> &ops = fn.body->ops;
  auto after = ops.begin() + int64_t(fn.body->position_of(&loop)) + 1;
  auto end =
      std::stable_partition(after, ops.end(), [&](const Op *op) { return needed.contains(op); });
  return *(end - 1);
}

void combine_totals(Function &fn, Op &loop, const std::vector<AssociativeLoop::Total> &totals,
                    const CombineTotals &combine) {
  if (totals.empty())
    return;
  Op *last = gather_totals(fn, loop, totals);
  std::vector<Value *> all;
  std::vector<std::vector<Op *>> users; // after the totals
  for (const AssociativeLoop::Total &total : totals) {
    all.push_back(total.value);
    users.push_back(users_of(*fn.body, total.value));
    std::erase_if(users.back(), [&](const Op *op) {
      return op->parent == fn.body && fn.body->position_of(op) <= fn.body->position_of(last);
    });
  }
  Builder builder = Builder::after(fn, last);
  builder.set_location(loop.location);
  for (bool is_rescaled : {false, true}) {
    std::vector<size_t> which;
    for (size_t i = 0; i < totals.size(); i++) {
      const auto &[op, value, key, rescaling] = totals[i];
      if (rescaling.has_value() != is_rescaled)
        continue;
      which.push_back(i);
      if (is_rescaled)
        all[i] = emit_rescaled(builder, *rescaling, value, totals[*key].value, all[*key]);
    }
    combine(builder, which, all);
  }
  for (size_t i = 0; i < totals.size(); i++)
    replace_uses(users[i], totals[i].value, all[i]);
}

std::optional<AssociativeLoop> find_associative_loop(Function &fn) {
  const std::optional<MatmulLoop> matmul = find_matmul_loop(fn).found;
  Op *divided = loop_to_divide(fn, matmul);
  if (!divided || has_effects(fn, *divided) || !has_host_bound(divided->operand(0)))
    return std::nullopt;
  Op &loop = *divided;
  AssociativeLoop found{divided, {}};
  found.totals.resize(loop.results.size());
  size_t known = add_rescaled(fn, loop, found.totals);
  for (size_t i = 0; i < loop.results.size(); i++)
    if (is_accumulator(fn, loop, i)) {
      found.totals[i] = {"add", loop.results[i]};
      known++;
    } else if (const Combining *combining = combining_of(loop, i)) {
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
