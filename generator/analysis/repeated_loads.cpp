// Finds tiles that several loops load. See repeated_loads.h.
//
// Method: two loads give the same elements if their pointers and masks are the same formulas of the
// loop counter (same_value.h), and no store between them may change the elements. If a store may
// change elements of the same iteration, its loop is the last one with a repeated load.
//
// Tested by tests/unit/analysis/repeated_loads_test.cpp.

#include "analysis/repeated_loads.h"

#include "analysis/launch_config.h"
#include "analysis/memory_access.h"
#include "analysis/same_value.h"

#include <algorithm>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

enum class Change {
  none,
  same_iteration, // only of the elements that a load of the same iteration reads
  any,
};

// What `op`, or an operation in it, may change of the memory that `load` reads.
Change change_by(const Function &fn, const Op &op, const Op &load) {
  Change change = Change::none;
  for (const Block *block : op.blocks)
    for (const Op *inner : block->ops)
      change = std::max(change, change_by(fn, *inner, load));
  if (op.is(Opcode::barrier_))
    return Change::any;
  if (info(op.code).effect != Effect::write)
    return change;
  if (op.is_atomic())
    return Change::any;
  switch (overlap_of(fn, op, load)) {
  case Overlap::none:
    return change;
  case Overlap::same_index:
    return std::max(change, Change::same_iteration);
  case Overlap::any:
    return Change::any;
  }
  return Change::any;
}

// Whether `repeat` reads the same elements as `load`, if memory does not change.
bool is_repeat(SameValues &same, const Op &load, const Op &repeat) {
  return repeat.is(Opcode::load_) && repeat.result()->type == load.result()->type &&
         !repeat.has(attr::cache_) && same(load.operand(0), repeat.operand(0)) &&
         same(load.operand_or_null(1), repeat.operand_or_null(1));
}

// Whether `repeat` allows the masked-off elements of `load`.
bool has_same_rest(const Op &load, const Op &repeat) {
  const Value *other = load.operand_or_null(2), *wanted = repeat.operand_or_null(2);
  SameValues same;
  return !wanted || (other && same(other, wanted));
}

struct Search {
  Function &fn;
  Op *first;               // the first loop
  std::vector<Op *> later; // the operations after it
  SameValues same = {};

  // The loads of `loop` that give the same elements as `load`, which is in the first loop.
  std::vector<Op *> repeats_in(Op &loop, const Op &load) {
    std::vector<Op *> found;
    for (Op *op : loop.blocks[0]->ops)
      if (is_repeat(same, load, *op))
        found.push_back(op);
    return found;
  }

  // Whether an operation of `loop` before `load` may change the elements of this iteration.
  bool changes_before(const Op &loop, const Op &load) const {
    for (const Op *op : loop.blocks[0]->ops) {
      if (op == &load)
        return false;
      if (may_change(fn, *op, load))
        return true;
    }
    return false;
  }

  std::vector<Op *> loads_of_tile(Op *load) {
    if (may_change(fn, *first, *load))
      return {load};
    std::vector<Op *> loads = {load};
    for (Op *repeat : repeats_in(*first, *load))
      if (repeat != load)
        loads.push_back(repeat);
    for (Op *op : later) {
      Change change = change_by(fn, *op, *load);
      bool is_loop = op->is(Opcode::for_loop_) && same(first->operand(0), op->operand(0));
      if (is_loop && change != Change::any) {
        same.add(first->blocks[0]->arguments[0], op->blocks[0]->arguments[0]);
        for (Op *repeat : repeats_in(*op, *load))
          if (!changes_before(*op, *repeat))
            loads.push_back(repeat);
      }
      if (change != Change::none)
        break;
    }
    return loads;
  }
};

} // namespace

bool depends_on_counter_only(const Op &load, const Block &body) {
  std::set<const Value *> given = {body.arguments[0]};
  return load.is(Opcode::load_) && load.operand(0)->type.is_view() && !load.has(attr::cache_) &&
         root_of(load.operand(0)) &&
         std::all_of(load.operands.begin(), load.operands.end(),
                     [&](const Value *operand) { return can_clone(operand, &body, given); });
}

std::optional<RepeatedLoads> find_repeated_loads(Function &fn) {
  const std::vector<Op *> &ops = fn.body->ops;
  for (size_t i = 0; i < ops.size(); i++) {
    Op *loop = ops[i];
    if (!loop->is(Opcode::for_loop_) || !host_expression(loop->operand(0)))
      continue;
    Search search{fn, loop, {ops.begin() + int64_t(i) + 1, ops.end()}};
    RepeatedLoads found{loop, {}};
    for (Op *load : loop->blocks[0]->ops) {
      bool is_of_type =
          load->is(Opcode::load_) &&
          (found.tiles.empty() || found.tiles[0][0]->result()->type == load->result()->type);
      bool is_known =
          std::any_of(found.tiles.begin(), found.tiles.end(), [&](const std::vector<Op *> &loads) {
            return std::find(loads.begin(), loads.end(), load) != loads.end();
          });
      if (!is_of_type || is_known || !depends_on_counter_only(*load, *loop->blocks[0]))
        continue;
      std::vector<Op *> loads = search.loads_of_tile(load);
      if (loads.back()->parent != load->parent)
        found.tiles.push_back(std::move(loads));
    }
    if (!found.tiles.empty())
      return found;
  }
  return std::nullopt;
}

bool may_change(const Function &fn, const Op &op, const Op &load) {
  return change_by(fn, op, load) != Change::none;
}

Op *earliest_place(const Function &fn, const RepeatedLoads &found) {
  std::set<const Op *> needed;
  if (const Op *count = found.first->operand(0)->op)
    add_with_operands(count, needed);
  for (const std::vector<Op *> &loads : found.tiles)
    add_with_operands(loads[0], needed);
  Op *place = found.first;
  for (size_t i = fn.body->position_of(found.first); i > 0; place = fn.body->ops[--i]) {
    const Op &before = *fn.body->ops[i - 1];
    const bool is_needed =
        needed.contains(&before) ||
        std::any_of(found.tiles.begin(), found.tiles.end(), [&](const std::vector<Op *> &loads) {
          return may_change(fn, before, *loads[0]);
        });
    if (is_needed)
      break;
  }
  return place;
}

bool can_load_first(const Function &fn, const Op &load) {
  Block &body = *load.parent;
  const size_t position = body.position_of(&load);
  for (size_t i = 0; i < body.ops.size(); i++)
    if (change_by(fn, *body.ops[i], load) > (i < position ? Change::none : Change::same_iteration))
      return false;
  return true;
}

Value *load_in_iteration(Builder &builder, const Op &load, Value *iteration, Value *exists,
                         Value *other) {
  Copies copies = {{load.parent->arguments[0], iteration}};
  Value *view = clone_computation(builder, load.operand(0), load.parent, copies);
  Value *mask = load.operand_or_null(1);
  if (mask)
    mask = clone_computation(builder, mask, load.parent, copies);
  if (exists) {
    const bool is_scalar = mask && mask->type.is_scalar(); // for all elements of the tile
    Value *all = is_scalar ? exists : builder.splat(exists, load.result()->type.shape);
    mask = mask ? builder.binary(Opcode::and_, mask, all) : all;
  }
  Value *loaded = mask ? builder.load(view, mask, other) : builder.load(view);
  loaded->name = load.result()->name;
  keep_cache_hint(*loaded->op, load);
  return loaded;
}

std::vector<std::pair<Op *, Op *>> find_repeated_loads_of_body(Function &fn) {
  std::vector<std::pair<Op *, Op *>> found;
  std::vector<Op *> known; // loads whose elements no store has changed since
  SameValues same;
  for (Op *op : fn.body->ops) {
    std::erase_if(known, [&](const Op *load) { return may_change(fn, *op, *load); });
    if (!op->is(Opcode::load_) || op->result()->type.is_scalar() || op->has(attr::cache_))
      continue;
    auto earlier = std::find_if(known.begin(), known.end(),
                                [&](const Op *load) { return is_repeat(same, *load, *op); });
    if (earlier != known.end())
      found.push_back({op, *earlier});
    else
      known.push_back(op);
  }
  return found;
}

Value *emit_repeat(Builder &builder, Value *elements, const Op &load, const Op &repeat) {
  if (has_same_rest(load, repeat))
    return elements;
  return builder.select(repeat.operand(1), elements, repeat.operand(2));
}

} // namespace tritonc
