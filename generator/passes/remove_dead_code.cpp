// remove_dead_code: drop what nothing observable depends on.
//
// Observable are stores, accesses to shared memory that write it, synchronisation, what a kernel
// says about itself, and what decides how often they happen. Everything else lives only if
// something living uses it; a loop carries a value only if the loop's body or what follows uses it
// for more than computing its own next value:
//
//     %k2, %c2 = while_loop %k, %c {...}           %c2 = for_loop %n, %c {
//       (%p, %acc)                             =>    (%t, %acc)
//       ... uses %acc, computes %p + 1               ... uses %acc
//
// Method. Mark from the observable operations backwards, then sweep. A carried value is one thing:
// the initial value, the block arguments, the yielded value and the result live or die together.
// Loads are not observable: reading less is always allowed.
//
// Needs:   nothing.
// Ensures: every remaining operation is live.
// Limits:  a loop without live results and effects is removed even if it would never end.
//
// Tested by tests/passes/remove_dead_code_test.cpp.

#include "passes/remove_dead_code.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace tritonc {

using namespace ir;

namespace {

struct State {
  Function &fn;
  std::vector<bool> live_values; // by their numbers
  std::unordered_set<const Op *> live_ops;
  bool changed = false;

  bool is_live(const Value *value) const {
    return size_t(value->number) < live_values.size() && live_values[size_t(value->number)];
  }

  void mark(const Value *value) {
    if (is_live(value))
      return;
    changed = true;
    if (size_t(value->number) >= live_values.size())
      live_values.resize(2 * size_t(value->number) + 1);
    live_values[size_t(value->number)] = true;
  }

  void mark_op(const Op &op) {
    if (!live_ops.insert(&op).second)
      return;
    changed = true;
    // Whatever encloses a live operation decides how often it happens.
    if (const Op *outer = op.parent->parent)
      mark_op(*outer);
    if (op.blocks.empty())
      for (const Value *operand : op.operands)
        mark(operand);
    if (op.is(Opcode::for_loop_) || op.is(Opcode::if_else_))
      mark(op.operand(0));
    for (const Block *block : op.blocks)
      if (block->terminator()->is(Opcode::condition_))
        mark(block->terminator()->operand(0));
  }

  static bool observable(const Op &op) {
    switch (info(op.code).effect) {
    case Effect::write:
    case Effect::shared_write:
    case Effect::sync:
    case Effect::report:
    case Effect::host:
      return true;
    default:
      return op.is(Opcode::return_);
    }
  }

  // The first operand of a loop that is a carried value, and the first such block argument.
  static size_t first_carried(const Op &op) { return op.is(Opcode::for_loop_) ? 1 : 0; }

  // Whether value i that `op` carries or gives is live; then its other forms are.
  void propagate(const Op &op) {
    for (size_t i = 0; i < op.results.size(); i++) {
      bool carried = is_live(op.results[i]);
      if (!op.is(Opcode::if_else_)) {
        size_t skip = first_carried(op);
        for (const Block *block : op.blocks)
          carried |= is_live(block->arguments[skip + i]);
        if (carried) {
          mark(op.operand(skip + i));
          for (const Block *block : op.blocks)
            mark(block->arguments[skip + i]);
        }
      }
      if (!carried)
        continue;
      mark(op.results[i]);
      mark_op(op);
      for (const Block *block : op.blocks)
        if (block->terminator()->is(Opcode::yield_))
          mark(block->terminator()->operand(i));
    }
  }

  void visit(const Op &op) {
    if (!op.blocks.empty())
      return propagate(op);
    bool used = std::any_of(op.results.begin(), op.results.end(),
                            [&](const Value *result) { return is_live(result); });
    if (used)
      mark_op(op);
  }

  void mark_all() {
    std::vector<Op *> ops;
    for_each_op(*fn.body, [&](Op &op) { ops.push_back(&op); });
    live_ops.reserve(ops.size());
    for (const Op *op : ops)
      if (observable(*op))
        mark_op(*op);
    // Users before what they use, so that loops alone take more than one round.
    std::reverse(ops.begin(), ops.end());
    do {
      changed = false;
      for (Op *op : ops)
        visit(*op);
    } while (changed);
  }

  template <typename List> static void erase_at(List &list, size_t i) {
    list.erase(list.begin() + i);
  }

  void drop_carried(Op &op) {
    for (size_t i = op.results.size(); i-- > 0;) {
      if (is_live(op.results[i]))
        continue;
      if (!op.is(Opcode::if_else_)) {
        erase_at(op.operands, first_carried(op) + i);
        for (Block *block : op.blocks)
          erase_at(block->arguments, first_carried(op) + i);
      }
      for (Block *block : op.blocks)
        if (block->terminator()->is(Opcode::yield_))
          erase_at(block->terminator()->operands, i);
      erase_at(op.results, i);
    }
    for (size_t i = 0; i < op.results.size(); i++)
      op.results[i]->index = int(i);
    for (Block *block : op.blocks)
      for (size_t i = 0; i < block->arguments.size(); i++)
        block->arguments[i]->index = int(i);
  }

  void sweep(Block &block) {
    std::erase_if(block.ops, [&](const Op *op) {
      bool terminator = op == block.ops.back();
      return !terminator && !live_ops.count(op);
    });
    for (Op *op : block.ops) {
      if (!op->blocks.empty())
        drop_carried(*op);
      for (Block *inner : op->blocks)
        sweep(*inner);
    }
  }
};

} // namespace

void remove_dead_code(Function &fn) {
  State state{fn, {}, {}};
  state.mark_all();
  state.sweep(*fn.body);
}

} // namespace tritonc
