// overlap_dots: starts the dots of the next iteration before the last dots of an iteration.
//
//                                        %k0 = tma_load %m, %zero
//                                        %s0 = dot %q, %k0, %none
//                                        %p0 = exp2 %s0
//     %sum = for_loop %n, %start {       %p2, %sum2 = for_loop max(%n, 1) - 1, %p0, %start {
//       (%t, %acc)                         (%t, %p, %acc)
//       %k = tma_load %m, %t               %k = tma_load %m, %t + 1
//       %s = dot %q, %k, %none             %s = dot %q, %k, %none
//       %p = exp2 %s                       %v = tma_load %w, %t
//       %v = tma_load %w, %t        =>     %d = dot %p, %v, %acc
//       %d = dot %p, %v, %acc              %p1 = exp2 %s
//       yield %d                           yield %p1, %d
//     }                                  }
//                                        %v1 = tma_load %w, max(%n, 1) - 1
//                                        %d1 = dot %p2, %v1, %sum2
//                                        %sum = select %n > 0, %d1, %start
//
// The second dot waits for the first one and for the arithmetic between them. The tensor cores would
// be idle during this arithmetic. Now they multiply for the second dot meanwhile, and have the first
// dot of the next iteration to do before it.
//
// This is modulo scheduling with two stages. FlashAttention-3 does it by hand (arXiv 2407.08608,
// section 3.2).
//
// Method:  The second stage has the dots with an operand computed from another dot of the iteration,
//          all that depends on them in this iteration, and the loads that nothing else needs. The
//          first stage has all other operations. The loop carries what the second stage needs of the
//          first one.
//
//          An iteration of the new loop runs first the part of the first stage up to its dots, then
//          the second stage, then the rest of the first stage.
//
//          The first stage of the first iteration and the second stage of the last one run even if the
//          loop has none. Their results are not used then, TMA reads nothing outside of a tensor, and
//          other loads are masked.
// Needs:   lower_to_tma; select_mma.
// Ensures: the loop runs an iteration less; the operations of a stage keep their order.
// Limits:  nothing happens unless the schedule is warp-specialized, the loop only reads memory, and
//          some dots of the first stage need nothing of the second one. The dots of
//          the two stages must not share a loaded tile.
//
// Tested by tests/unit/passes/overlap_dots/ and overlap_dots_test.cpp.

#include "passes/overlap_dots.h"

#include "ir/builder.h"

#include <algorithm>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

using OpSet = std::set<const Op *>;

// Calls `visit(value)` for each operand of `op` and of the operations in its blocks.
template <typename Visit> void for_each_operand(const Op &op, Visit visit) {
  for (const Value *operand : op.operands)
    visit(operand);
  for (Block *block : op.blocks)
    for (const Op *inner : block->ops)
      for_each_operand(*inner, visit);
}

bool is_pure(const Op &op) {
  bool pure = info(op.code).effect == Effect::pure || op.is(Opcode::tma_load_) ||
              op.is(Opcode::if_else_) || op.is(Opcode::for_loop_) || op.is(Opcode::yield_);
  for (const Block *block : op.blocks)
    for (const Op *inner : block->ops)
      pure &= is_pure(*inner);
  return pure;
}

class Rotation {
public:
  Rotation(Function &fn, Op *loop) : fn_(fn), loop_(loop), body_(*loop->blocks[0]) {}

  bool is_useful() {
    if (!std::all_of(body_.ops.begin(), body_.ops.end(),
                     [](const Op *op) { return is_pure(*op) || op->is(Opcode::load_); }))
      return false;
    divide();
    find_leading();
    find_crossing();
    return !second_.empty() && !carries_load() &&
           std::any_of(leading_.begin(), leading_.end(),
                       [](const Op *op) { return op->is(Opcode::dot_); });
  }

  void run() {
    Builder before = Builder::before(fn_, loop_);
    before.set_location(loop_->location);
    Value *const count = loop_->operand(0), *const one = before.i32(1);
    Value *const last = before.sub(before.binary(Opcode::max_, count, one), one);
    Value *const runs = before.cmp("gt", count, before.i32(0));

    Copies first = {{counter(), before.i32(0)}};
    for (size_t i = 0; i < results(); i++)
      first[argument(i)] = loop_->operand(1 + i);
    emit_if(before, first, runs, [&](const Op &op) { return !second_.count(&op); });
    std::vector<Value *> carried;
    for (const Value *value : crossing_)
      carried.push_back(first.at(value));
    for (size_t i = 0; i < results(); i++)
      if (!is_of_second(yielded(i)))
        carried.push_back(copy_of(first, yielded(i)));
    Op *rotated = before.for_loop(last, carried);
    fill(*rotated);

    Copies end = {{counter(), last}};
    for (size_t i = 0; i < crossing_.size(); i++)
      end[crossing_[i]] = rotated->results[i];
    emit_if(before, end, runs,
            [&](const Op &op) { return second_.count(&op) || repeated_.count(&op); });
    size_t next = crossing_.size();
    for (size_t i = 0; i < results(); i++) {
      Value *result = is_of_second(yielded(i)) ? end.at(yielded(i)) : rotated->results[next++];
      if (count_uses(*fn_.body, loop_->results[i]) == 0)
        continue;
      Value *selected = before.select(runs, result, loop_->operand(1 + i));
      selected->name = loop_->results[i]->name;
      replace_uses(*fn_.body, loop_->results[i], selected);
    }
    erase(loop_);
  }

private:
  Function &fn_;
  Op *loop_;
  Block &body_;
  OpSet second_;                        // the second stage
  OpSet repeated_;                      // of the first stage, and computed again by the second one
  OpSet leading_;                       // of the first stage, up to its dots
  std::vector<const Value *> crossing_; // from the first stage to the second

  size_t results() const { return loop_->results.size(); }
  const Value *counter() const { return body_.arguments[0]; }
  const Value *argument(size_t i) const { return body_.arguments[1 + i]; }
  const Value *yielded(size_t i) const { return body_.terminator()->operand(i); }

  bool is_of_second(const Value *value) const { return value->op && second_.count(value->op); }

  // Whether `op` uses a value of `set`, directly.
  static bool uses(const Op &op, const std::set<const Value *> &set) {
    bool found = false;
    for_each_operand(op, [&](const Value *operand) { found |= set.count(operand) > 0; });
    return found;
  }

  // The operations of the body, without the terminator.
  std::vector<Op *> ops() const { return {body_.ops.begin(), body_.ops.end() - 1}; }

  // Divides the operations into stages.
  void divide() {
    std::set<const Value *> of_dots, of_second;
    for (const Op *op : ops()) {
      const bool follows =
          op->is(Opcode::dot_) && (of_dots.count(op->operand(0)) || of_dots.count(op->operand(1)));
      if (follows || uses(*op, of_second)) {
        second_.insert(op);
        of_second.insert(op->results.begin(), op->results.end());
      }
      if (op->is(Opcode::dot_) || uses(*op, of_dots))
        of_dots.insert(op->results.begin(), op->results.end());
    }
    std::vector<Op *> all = ops();
    const Users users(*fn_.body);
    auto is_for_second = [&](const Value *value) {
      const std::vector<Op *> &of = users.of(value);
      return !of.empty() && std::all_of(of.begin(), of.end(),
                                        [&](const Op *user) { return second_.count(user) > 0; });
    };
    for (auto at = all.rbegin(); at != all.rend(); at++)
      if (((*at)->is(Opcode::tma_load_) || (*at)->is(Opcode::trans_)) &&
          is_for_second((*at)->result()))
        second_.insert(*at);
    find_repeated(all);
  }

  // Scalars that the second stage needs, such as coordinates: it computes them from the counter.
  void find_repeated(const std::vector<Op *> &all) {
    std::set<const Value *> computed = {counter()};
    for (const Op *op : all)
      if (op->results.size() == 1 && !op->result()->type.is_tile() && op->blocks.empty() &&
          info(op->code).effect == Effect::pure &&
          std::all_of(op->operands.begin(), op->operands.end(), [&](const Value *operand) {
            return defined_outside(operand, &body_) || computed.count(operand);
          }))
        computed.insert(op->result());
    std::set<const Value *> needed;
    for (auto at = all.rbegin(); at != all.rend(); at++) {
      const Op &op = **at;
      const bool is_repeated =
          !op.results.empty() && computed.count(op.results[0]) && needed.count(op.results[0]);
      if (is_repeated)
        repeated_.insert(&op);
      if (is_repeated || second_.count(&op))
        for_each_operand(op, [&](const Value *operand) { needed.insert(operand); });
    }
  }

  // The dots of the first stage that do not depend on the second stage of the iteration before, with
  // all that they depend on.
  void find_leading() {
    std::set<const Value *> late;
    for (size_t i = 0; i < results(); i++)
      if (is_of_second(yielded(i)))
        late.insert(argument(i));
    for (const Op *op : ops())
      if (!second_.count(op) && uses(*op, late))
        late.insert(op->results.begin(), op->results.end());
    std::set<const Value *> needed;
    std::vector<Op *> all = ops();
    for (auto at = all.rbegin(); at != all.rend(); at++) {
      const Op &op = **at;
      if (second_.count(&op) || (!op.results.empty() && late.count(op.results[0])))
        continue;
      const bool is_needed = std::any_of(op.results.begin(), op.results.end(),
                                         [&](const Value *value) { return needed.count(value); });
      if (!op.is(Opcode::dot_) && !is_needed)
        continue;
      leading_.insert(&op);
      for_each_operand(op, [&](const Value *operand) { needed.insert(operand); });
    }
  }

  void find_crossing() {
    std::set<const Value *> inside(body_.arguments.begin() + 1, body_.arguments.end());
    for (const Op *op : ops())
      if (!second_.count(op) && !repeated_.count(op))
        inside.insert(op->results.begin(), op->results.end());
    for (const Op *op : ops())
      if (second_.count(op))
        for_each_operand(*op, [&](const Value *operand) {
          if (inside.count(operand) &&
              std::find(crossing_.begin(), crossing_.end(), operand) == crossing_.end())
            crossing_.push_back(operand);
        });
  }

  // Whether dots of both stages use a loaded tile. It must stay in shared memory.
  bool carries_load() const {
    return std::any_of(crossing_.begin(), crossing_.end(), [](const Value *value) {
      return value->op && (value->op->is(Opcode::tma_load_) || value->op->is(Opcode::trans_));
    });
  }

  static Value *copy_of(const Copies &copies, const Value *value) {
    auto found = copies.find(value);
    return found == copies.end() ? const_cast<Value *>(value) : found->second;
  }

  template <typename Condition> void emit(Builder &builder, Copies &copies, Condition condition) {
    for (const Op *op : ops())
      if (condition(*op))
        builder.copy(*op, copies);
  }

  // The same, but loads read memory only if `runs` is true.
  template <typename Condition>
  void emit_if(Builder &builder, Copies &copies, Value *runs, Condition condition) {
    for (const Op *op : ops())
      if (condition(*op)) {
        if (op->is(Opcode::load_))
          emit_load_if(builder, copies, *op, runs);
        else
          builder.copy(*op, copies);
      }
  }

  // A copy of `load` that reads memory only if `condition` is true.
  static void emit_load_if(Builder &builder, Copies &copies, const Op &load, Value *condition) {
    const Type &type = load.result()->type;
    Value *mask = type.is_tile() ? builder.splat(condition, type.shape) : condition;
    if (load.operands.size() > 1)
      mask = builder.binary(Opcode::and_, copy_of(copies, load.operand(1)), mask);
    std::vector<Value *> masked = {mask};
    if (load.operands.size() < 3)
      masked.push_back(builder.filled(type, 0));
    Op *copy = builder.copy(load, copies);
    copy->operands.resize(std::max(copy->operands.size(), 1 + masked.size()));
    std::copy(masked.begin(), masked.end(), copy->operands.begin() + 1);
  }

  // The body of the rotated loop.
  void fill(Op &rotated) {
    Block &block = *rotated.blocks[0];
    block.arguments[0]->name = counter()->name;
    Builder builder(fn_, &block);
    builder.set_location(loop_->location);
    Copies second = {{counter(), block.arguments[0]}};
    for (size_t i = 0; i < crossing_.size(); i++) {
      second[crossing_[i]] = block.arguments[1 + i];
      block.arguments[1 + i]->name = crossing_[i]->name;
    }
    Copies first = {{counter(), builder.add(block.arguments[0], builder.i32(1))}};
    size_t next = 1 + crossing_.size();
    for (size_t i = 0; i < results(); i++)
      if (!is_of_second(yielded(i))) {
        block.arguments[next]->name = argument(i)->name;
        first[argument(i)] = block.arguments[next++];
      }
    emit(builder, first, [&](const Op &op) { return leading_.count(&op) > 0; });
    emit(builder, second, [&](const Op &op) { return second_.count(&op) || repeated_.count(&op); });
    for (size_t i = 0; i < results(); i++)
      if (is_of_second(yielded(i)))
        first[argument(i)] = second.at(yielded(i));
    emit(builder, first, [&](const Op &op) { return !second_.count(&op) && !leading_.count(&op); });
    std::vector<Value *> carried;
    for (const Value *value : crossing_)
      carried.push_back(copy_of(first, value));
    for (size_t i = 0; i < results(); i++)
      if (!is_of_second(yielded(i)))
        carried.push_back(copy_of(first, yielded(i)));
    builder.yield(carried);
  }
};

} // namespace

void overlap_dots(Function &fn, const Schedule &schedule) {
  if (!schedule.is_warp_specialized())
    return;
  std::vector<Op *> loops;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::for_loop_))
      loops.push_back(&op);
  });
  for (Op *loop : loops)
    if (Rotation rotation(fn, loop); rotation.is_useful())
      rotation.run();
}

} // namespace tritonc
