// Finds the pointer parameters of a kernel that may be null.
//
//     %null = ...
//     %given = cmp %bias, %null {pred = "ne"} : i1
//     if_else %given : f32[32] {
//       %p = addptr %bias, %i : ptr<f32>[32]
//       %b = load %p : f32[32]
//       ...
//
// `bias` may be null: then %given is false, and the kernel loads nothing.
//
// Method:
// 1. For each value, collects the parameters that it may be computed from while they are null.
//    Repeats through loops until nothing changes. A `select` on a comparison with null removes the
//    parameter.
// 2. Visits all accesses. The mask of an access, and the conditions of the branches around it,
//    exclude the parameters that are not null there. An access through any other parameter means
//    that this parameter must not be null.
//
// Limits: a pointer that the kernel stores must not be null, because others may load through it.
// The analysis ignores loop conditions, and all comparisons except of a parameter with null.
//
// Tested by tests/unit/analysis/null_pointers_test.cpp.

#include "analysis/null_pointers.h"

#include "analysis/memory_access.h"
#include "analysis/value_flow.h"

#include <map>
#include <set>

namespace tritonc {

namespace {

using namespace ir;

using Pointers = std::set<const Value *>; // parameters

Pointers both(const Pointers &a, const Pointers &b) {
  Pointers result;
  for (const Value *pointer : a)
    if (b.count(pointer))
      result.insert(pointer);
  return result;
}

Pointers either(Pointers a, const Pointers &b) {
  a.insert(b.begin(), b.end());
  return a;
}

Pointers without(Pointers a, const Pointers &b) {
  for (const Value *pointer : b)
    a.erase(pointer);
  return a;
}

bool is_shape(const Op &op) {
  return op.is(Opcode::splat_) || op.is(Opcode::expand_) || op.is(Opcode::broadcast_) ||
         op.is(Opcode::trans_) || op.is(Opcode::reshape_);
}

/// The value whose bits every element of `value` has.
const Value *bits_of(const Value *value) {
  while (value->op && (is_shape(*value->op) || value->op->is(Opcode::bitcast_)))
    value = value->op->operand(0);
  return value;
}

bool is_null(const Value *value) {
  value = bits_of(value);
  while (value->op && value->op->is(Opcode::cast_))
    value = value->op->operand(0);
  return value->op && constant_of(value) == 0;
}

/// The parameters that are not null if `condition`, or any element of it, is `outcome`.
Pointers not_null_if(const Value *condition, bool outcome) {
  const Op *op = condition->op;
  if (!op)
    return {};
  auto of = [&](size_t i, bool value) { return not_null_if(op->operand(i), value); };
  if (is_shape(*op))
    return of(0, outcome);
  if (op->is(Opcode::cmp_)) {
    if (op->get(attr::pred_) != (outcome ? "ne" : "eq"))
      return {};
    for (size_t i : {0, 1}) {
      const Value *pointer = bits_of(op->operand(i));
      bool is_parameter = !pointer->op && !pointer->block && pointer->type.is_pointer();
      if (is_parameter && is_null(op->operand(1 - i)))
        return {pointer};
    }
    return {};
  }
  if (op->is(Opcode::and_) || op->is(Opcode::or_))
    return op->is(Opcode::and_) == outcome ? either(of(0, outcome), of(1, outcome))
                                           : both(of(0, outcome), of(1, outcome));
  if (op->is(Opcode::xor_)) // xor with true negates
    for (size_t i : {0, 1})
      if (std::optional<int64_t> constant = constant_of(op->operand(i)))
        return of(1 - i, outcome != (*constant != 0));
  return {};
}

class Analysis {
public:
  explicit Analysis(const Function &fn) : fn_(fn) {
    for (const Parameter &parameter : fn.parameters)
      if (parameter.value->type.is_pointer())
        from_[parameter.value] = {parameter.value};
  }

  std::vector<bool> run() {
    do {
      is_changed_ = false;
      for_each_op(*fn_.body, [&](Op &op) { follow(op); });
    } while (is_changed_);
    visit(*fn_.body, {});
    std::vector<bool> result;
    for (const Parameter &parameter : fn_.parameters)
      result.push_back(parameter.value->type.is_pointer() && !needed_.count(parameter.value));
    return result;
  }

private:
  const Pointers &from(const Value *value) const {
    static const Pointers none;
    auto found = from_.find(value);
    return found == from_.end() ? none : found->second;
  }

  void add(const Value *to, const Pointers &pointers) {
    if (pointers.empty())
      return;
    Pointers &its = from_[to];
    size_t before = its.size();
    its.insert(pointers.begin(), pointers.end());
    is_changed_ |= its.size() != before;
  }

  /// Propagates from operands to results.
  void follow(const Op &op) {
    for_each_flow(op, [&](const Value *to, const Value *from) { add(to, this->from(from)); });
    if (!op.blocks.empty() || op.results.empty() || op.is(Opcode::cmp_))
      return;
    if (op.is(Opcode::load_)) { // a loaded value does not depend on the pointer
      if (const Value *other = op.operand_or_null(2))
        add(op.result(), from(other));
      return;
    }
    if (op.is(Opcode::select_)) {
      const Value *condition = op.operand(0);
      add(op.result(), without(from(op.operand(1)), not_null_if(condition, true)));
      add(op.result(), without(from(op.operand(2)), not_null_if(condition, false)));
      return;
    }
    for (const Value *operand : op.operands)
      add(op.result(), from(operand));
  }

  void visit(const Block &block, const Pointers &not_null) {
    for (const Op *op : block.ops) {
      const Effect effect = info(op->code).effect;
      if (effect == Effect::read || effect == Effect::write) {
        Pointers safe = not_null;
        bool has_mask = op->is(Opcode::load_) || op->is(Opcode::store_) || op->is_atomic();
        if (const Value *mask = has_mask ? mask_of(*op) : nullptr)
          safe = either(std::move(safe), not_null_if(mask, true));
        need(without(from(op->operand(0)), safe));
        for (size_t i = 1; i < op->operands.size() && effect == Effect::write; i++)
          need(from(op->operand(i)));
      }
      for (size_t i = 0; i < op->blocks.size(); i++)
        visit(*op->blocks[i], op->is(Opcode::if_else_)
                                  ? either(not_null, not_null_if(op->operand(0), i == 0))
                                  : not_null);
    }
  }

  void need(const Pointers &pointers) { needed_.insert(pointers.begin(), pointers.end()); }

  const Function &fn_;
  std::map<const Value *, Pointers> from_;
  Pointers needed_;
  bool is_changed_ = false;
};

} // namespace

std::vector<bool> may_be_null(const ir::Function &fn) { return Analysis(fn).run(); }

} // namespace tritonc
