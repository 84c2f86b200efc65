// remove_dead_code: removes operations and loop-carried values that nothing observable depends on.
//
//     %p2, %c2 = for_loop %n, %p, %c {             %c2 = for_loop %n, %c {
//       (%t, %q, %acc)                               (%t, %acc)
//       %r = addptr %q, %step                  =>    %d = ... uses %acc
//       %d = ... uses %acc                           yield %d
//       yield %r, %d                               }
//     }
//
// Passes leave unused operations, and loops carry values that only compute their own next value.
//
// Method:  Marks backwards from the observable operations, then sweeps. These are observable:
//
//            stores, and writes to shared memory
//            synchronization
//            print and assert
//            what the host does before the launch
//            what decides how often one of these runs
//
//          Loads are not observable: it is always allowed to read less. A carried value is one
//          unit: the initial value, the block arguments, the yielded value and the result are live
//          or dead together.
// Needs:   nothing.
// Ensures: every remaining operation is live.
// Limits:  a loop without live results and effects is removed even if it would never end.
//
// Tested by tests/unit/passes/remove_dead_code/.

#include "passes/remove_dead_code.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace tritonc {

using namespace ir;

namespace {

struct State {
  Function &fn;
  std::vector<bool> live_values; // by Value::number
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
    // The loop or branch around a live operation decides how often it runs.
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
    case Effect::io:
    case Effect::host:
      return true;
    default:
      return op.is(Opcode::return_);
    }
  }

  // The first operand of a loop that is a carried value, and the first such block argument.
  static size_t first_carried(const Op &op) { return op.is(Opcode::for_loop_) ? 1 : 0; }

  // If result i of `op` is live in any place (operand, argument, yielded value), marks all places.
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
    // Users come before their operands, so only loops need more than one round.
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
