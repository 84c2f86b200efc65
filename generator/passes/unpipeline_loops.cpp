// unpipeline_loops: undoes prefetching in the source, so that each iteration loads what it uses.
//
//     %a0 = load %p0                                 while_loop %p0, %k0 {
//     while_loop %p0, %a0, %k0 {                       ...
//       ...                                          } {
//     } {                                              (%p, %k)
//       (%p, %a, %k)                             =>    %a = load %p
//       use %a                                         use %a
//       %p1 = addptr %p, %step                         %p1 = addptr %p, %step
//       %a1 = load %p1, mask %check                    yield %p1, %k1
//       yield %p1, %a1, %k1                          }
//     }
//
// Authors overlap loads with arithmetic: they load the next iteration's tile at the end of a loop.
// The passes that prefetch need the loop without that. It also never reads past the last tile: the
// unmasked last load disappears.
//
// Method:  A carried value is a prefetched tile under two conditions. It starts as a load from the
//          initial value of another carried value, the pointer. It is yielded as a load from the
//          pointer's next value. A scalar may mask the second load if it provably equals "there is
//          another iteration": the loop's condition as a polynomial, with each carried scalar
//          replaced by its next value.
// Needs:   while loops: runs before uplift_while_to_for.
// Ensures: no such pair of loads is left.
// Limits:  nothing happens if the loop stores to global memory, or if a store stands between the
//          first load and the loop: a load must not move across a store to the same address. Tiles
//          that are used after the loop stay.
//
// Tested by tests/unit/passes/unpipeline_loops/ and unpipeline_loops_test.cpp.

#include "passes/unpipeline_loops.h"

#include "analysis/affine.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

bool stores_to_memory(const Op &op) {
  bool found = info(op.code).effect == Effect::write;
  for (Block *block : op.blocks)
    for_each_op(*block, [&](Op &inner) { found |= info(inner.code).effect == Effect::write; });
  return found;
}

// Whether no operation from `first` to `last` (inclusive) stores to memory.
bool memory_stays(const Op *first, const Op *last) {
  Block &block = *last->parent;
  return first->parent == &block &&
         std::none_of(block.ops.begin() + block.position_of(first),
                      block.ops.begin() + block.position_of(last) + 1,
                      [](const Op *op) { return stores_to_memory(*op); });
}

// `a pred b` as `a - b pred 0`. lt and le become gt and ge of the negated difference.
struct Comparison {
  std::string_view pred;
  Poly difference;
};

std::optional<Comparison> comparison_of(const Value *condition) {
  const Op *op = condition->op;
  if (!op || !op->is(Opcode::cmp_) || !is_integer(op->operand(0)->type.elem) ||
      !op->operand(0)->type.is_number() || op->operand(0)->type.is_tile())
    return std::nullopt;
  Poly difference = poly_of(op->operand(0)) - poly_of(op->operand(1));
  std::string_view pred = op->get(attr::pred_);
  if (pred == "lt")
    return Comparison{"gt", Poly() - difference};
  if (pred == "le")
    return Comparison{"ge", Poly() - difference};
  if (pred == "gt" || pred == "ge" || pred == "ne" || pred == "eq")
    return Comparison{pred, difference};
  return std::nullopt;
}

struct State {
  Function &fn;
  Op &loop;
  Block &condition() { return *loop.blocks[0]; }
  Block &body() { return *loop.blocks[1]; }
  const Value *yielded(size_t i) { return body().terminator()->operand(i); }

  // Whether `mask` is true whenever another iteration follows.
  bool means_another_iteration(const Value *mask) {
    const Value *scalar = scalar_of(mask);
    if (scalar->type.is_tile())
      return false;
    std::optional<Comparison> check = comparison_of(scalar);
    std::optional<Comparison> again = comparison_of(condition().terminator()->operand(0));
    if (!check || !again)
      return false;
    Poly next = again->difference;
    for (size_t i = 0; i < loop.results.size(); i++)
      if (yielded(i)->type == Type::scalar(Elem::i32) ||
          yielded(i)->type == Type::scalar(Elem::i64))
        next = next.substitute(condition().arguments[i], poly_of(yielded(i)));
    return check->pred == again->pred && check->difference == next;
  }

  // The pointer in the body, if carried value i is a prefetched tile; else null.
  Value *pointer_of(size_t i) {
    const Op *first = loop.operand(i)->op, *next = yielded(i)->op;
    if (!first || !next || !first->is(Opcode::load_) || !next->is(Opcode::load_) ||
        first->operands.size() > 1 || next->parent != &body() || !memory_stays(first, &loop))
      return nullptr;
    if (next->operands.size() > 1 && !means_another_iteration(next->operand(1)))
      return nullptr;
    if (count_uses(*fn.body, loop.results[i]) || count_uses(condition(), condition().arguments[i]))
      return nullptr;
    for (Value *pointer : body().arguments)
      if (loop.operand(size_t(pointer->index)) == first->operand(0) &&
          yielded(size_t(pointer->index)) == next->operand(0))
        return pointer;
    return nullptr;
  }

  void run() {
    for (size_t i = 0; i < loop.results.size(); i++)
      if (Value *pointer = pointer_of(i)) {
        Builder builder(fn, &body(), 0);
        builder.set_location(yielded(i)->op->location);
        Value *loaded = builder.load(pointer);
        keep_cache_hint(*loaded->op, *yielded(i)->op);
        loaded->name = body().arguments[i]->name;
        replace_uses(body(), body().arguments[i], loaded);
        // The carried value now only yields itself, so remove_dead_code removes it and its loads.
        body().terminator()->operands[i] = body().arguments[i];
      }
  }
};

} // namespace

void unpipeline_loops(Function &fn) {
  std::vector<Op *> loops;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::while_loop_))
      loops.push_back(&op);
  });
  for (Op *loop : loops)
    State{fn, *loop}.run();
}

} // namespace tritonc
