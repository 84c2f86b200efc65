// issue_wgmma_async: turns a dot into an asynchronous wgmma that runs while its warps copy on.
//
//     async_wait {pending = 2}                  async_wait {pending = 2}
//     async_copy ..., %sa, stage t+3            proxy_fence
//     async_copy ..., %sb, stage t+3            %p = wgmma_ss %sa, stage t, %sb, stage t, %acc
//     async_commit                              async_copy ..., %sa, stage t+3
//     %a = shared_load %sa, stage t      =>     async_copy ..., %sb, stage t+3
//     %b = shared_load %sb, stage t             async_commit
//     %d = dot %a, %b, %acc                     %d = wgmma_wait %p {pending = 1}
//     yield %d                                  yield %d
//
//                                               after the loop: wgmma_wait {pending = 0}
//
// wgmma reads its operands from shared memory, so no thread loads them. The tensor cores work while
// the same warps copy the next K tiles.
//
// Method:  One matmul stays in flight when the next one starts. wgmma_wait {pending = 1} waits
//          until the matmul before it has read its stage. The copies of the next iteration may
//          overwrite that stage. So the circular buffer has one more stage (pipeline_loops), and
//          one barrier per iteration is enough. It stands between the matmul and the fence, which
//          makes the copies of threads visible to the tensor cores.
//
//          The loop runs at least one iteration: where there is nothing to copy, the stage is zero.
//
//          Other dots. A loop may have several dots, and may use their results at once. Then the
//          loop waits for a wgmma before it uses the result, or before it touches memory:
//
//              shared_store %q, %sq                      shared_store %q, %sq
//              ...                                       proxy_fence
//              %a = shared_load %sq                      ...
//              %b = shared_load %sb, stage t      =>     %p = wgmma_ss %sq, %sb, stage t, %acc
//              %d = dot %a, %b, %acc                     %d = wgmma_wait %p {pending = 0}
//              %x = exp2 %d                              %x = exp2 %d
//              %e = dot %x, %v, %sum                     %r = wgmma_rs %x, %sv, stage t, %sum
//                                                        %e = wgmma_wait %r {pending = 0}
//
//          The first wgmma after a zero accumulator ignores it.
//
//          In a partition, stages of channels hold the operands. No other operation uses their memory,
//          so the wgmma is in flight until its result is used, and then its stages are released:
//
//              %i = get %K, %s                           %i = get %K, %s
//              %b = shared_load %k, %i                   %p = wgmma_ss %q, %j, %k, %i, %none
//              %d = dot %a, %b, %none             =>     ...
//              get_done %K, %s                           %d = wgmma_wait %p {pending = 0}
//              ...                                       get_done %K, %s
//              %x = exp2 %d                              %x = exp2 %d
// Needs:   specialize_loads, or stage_operands and pipeline_loops.
// Ensures: no dot with the instruction wgmma and operands in shared memory is left. A fence stands
//          after each write of threads to a buffer that wgmma reads.
// Limits:  both operands must be contiguous along K, or have 16-bit elements.
//
// Tested by tests/unit/passes/issue_wgmma_async/.

#include "passes/issue_wgmma_async.h"

#include "ir/builder.h"

#include <algorithm>
#include <optional>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

void move_after(Op *op, Op *place) {
  Block &block = *place->parent;
  erase(op);
  op->parent = &block;
  block.ops.insert(block.ops.begin() + ptrdiff_t(block.position_of(place)) + 1, op);
}

// The buffer that `operand` is loaded from; null: it is in registers.
const Op *shared_load_of(const Value *operand) {
  return operand->op && operand->op->is(Opcode::shared_load_) ? operand->op : nullptr;
}

Value *wait(Builder &builder, const Op &dot, Value *accumulator, int64_t pending) {
  Op *op = builder.create(Opcode::wgmma_wait_, {accumulator}, {accumulator->type});
  op->set(attr::pending_, pending);
  op->set(attr::warpgroups_, dot.get(attr::warpgroups_));
  return op->result();
}

// Creates the wgmma, which reads the operands of `dot` from shared memory, or A from registers.
Op *start(Builder &builder, const Op &dot, Value *accumulator, Value *adds = nullptr) {
  const Op *left = shared_load_of(dot.operand(0)), *right = dot.operand(1)->op;
  std::vector<Value *> operands = {dot.operand(0)};
  if (left)
    operands = {left->operand(0), left->operand(1)};
  operands.insert(operands.end(), {right->operand(0), right->operand(1), accumulator});
  if (adds)
    operands.push_back(adds);
  std::vector<int64_t> perm = right->get(attr::perm_);
  Op *matmul = builder.create(left ? Opcode::wgmma_ss_ : Opcode::wgmma_rs_, std::move(operands),
                              {dot.result()->type});
  if (left) {
    std::vector<int64_t> perms = left->get(attr::perm_);
    perms.insert(perms.end(), perm.begin(), perm.end());
    matmul->set(attr::perms_, perms);
  } else {
    matmul->set(attr::perm_, perm);
    matmul->set(attr::origin_, std::vector<int64_t>{0, 0});
  }
  matmul->set(attr::warpgroups_, dot.get(attr::warpgroups_));
  if (dot.has(attr::precision_))
    matmul->set(attr::precision_, std::string(dot.get(attr::precision_)));
  if (dot.has(attr::unsigned_))
    matmul->set(attr::unsigned_);
  return matmul;
}

// A loop whose only dot accumulates, from operands that are copied ahead. While its matmul is in
// flight, copies fill other stages.
struct Mainloop {
  Op *loop, *wait;
  std::vector<Op *> copies; // in order, with the commit
  size_t carried;           // index of the accumulator
};

// Whether the copy leaves the stage of the previous iteration as it is.
bool leaves_previous_stage(const Op &copy) {
  const Op *stage = copy.operand(2)->op;
  return stage && stage->is(Opcode::stage_index_) &&
         stage->get(attr::stages_) - stage->get(attr::offset_) >= 2;
}

std::optional<Mainloop> mainloop_of(Function &fn, const Op &dot) {
  Block &body = *dot.parent;
  const Value *accumulator = dot.operand(2), *result = dot.result();
  if (!body.parent || !body.parent->is(Opcode::for_loop_) || accumulator->block != &body ||
      accumulator->index == 0 || count_uses(*fn.body, accumulator) != 1 ||
      count_uses(*fn.body, result) != 1)
    return std::nullopt;
  Mainloop mainloop{body.parent, nullptr, {}, size_t(accumulator->index - 1)};
  if (body.terminator()->operand(mainloop.carried) != result)
    return std::nullopt;
  std::set<const Value *> copied;
  for (Op *op : body.ops) {
    if (op->is(Opcode::async_copy_) || op->is(Opcode::async_commit_))
      mainloop.copies.push_back(op);
    if (op->is(Opcode::async_copy_) && leaves_previous_stage(*op))
      copied.insert(op->operand(1));
    if (op->is(Opcode::async_wait_))
      mainloop.wait = op;
    if (!op->blocks.empty() || (op->is(Opcode::dot_) && op != &dot))
      return std::nullopt;
  }
  for (size_t i : {0, 1})
    if (const Op *load = shared_load_of(dot.operand(i)); !load || !copied.count(load->operand(0)))
      return std::nullopt;
  return mainloop.wait ? std::optional(mainloop) : std::nullopt;
}

// Leaves the matmul in flight until that of the next iteration has started.
void leave_in_flight(Function &fn, Op *dot, const Mainloop &mainloop) {
  Op *loop = mainloop.loop;
  // If the loop could be skipped, the accumulator could come from elsewhere than wgmma. Then ptxas
  // makes every wgmma wait for the one before (C7515). So the loop always runs an iteration: copies
  // out of range write zeros, so their matmul adds zero.
  Builder before = Builder::before(fn, loop);
  before.set_location(loop->location);
  loop->operands[0] = before.binary(Opcode::max_, loop->operand(0), before.i32(1));
  Builder fence = Builder::after(fn, mainloop.wait);
  fence.set_location(dot->location);
  fence.create(Opcode::proxy_fence_, {});
  Builder builder = Builder::before(fn, dot);
  builder.set_location(dot->location);
  Op *matmul = start(builder, *dot, dot->operand(2));
  for (auto copy = mainloop.copies.rbegin(); copy != mainloop.copies.rend(); copy++)
    move_after(*copy, matmul);
  Builder after = Builder::before(fn, dot);
  after.set_location(dot->location);
  Value *accumulator = wait(after, *dot, matmul->result(), 1);
  accumulator->name = dot->result()->name;
  dot->parent->terminator()->operands[mainloop.carried] = accumulator;

  // Waits after the loop for the last matmul.
  Builder end = Builder::after(fn, loop);
  end.set_location(dot->location);
  Value *unfinished = loop->results[mainloop.carried];
  Value *users_value = fn.new_value(unfinished->type); // a temporary for the users
  replace_uses(*loop->parent, unfinished, users_value);
  Value *finished = wait(end, *dot, unfinished, 0);
  finished->name = unfinished->name;
  replace_uses(*loop->parent, users_value, finished);
  erase(dot);
}

// Makes the writes of threads to the buffers of `dot` visible to the tensor cores.
void fence_writes(Function &fn, const Op &dot, std::set<const Op *> &fenced) {
  std::set<const Value *> buffers;
  for (size_t i : {0, 1})
    if (const Op *load = shared_load_of(dot.operand(i)))
      buffers.insert(load->operand(0));
  std::vector<Op *> writes; // and waits for them
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::shared_store_) && buffers.count(op.operand(1)))
      writes.push_back(&op);
    if (!op.is(Opcode::async_copy_) || !buffers.count(op.operand(1)))
      return;
    for (Op *other : op.parent->ops)
      if (other->is(Opcode::async_wait_))
        writes.push_back(other);
  });
  for (Op *write : writes) {
    if (!fenced.insert(write).second)
      continue;
    Builder fence = Builder::after(fn, write);
    fence.set_location(write->location);
    fence.create(Opcode::proxy_fence_, {});
  }
}

bool uses(const Op &op, const Value *value) {
  return std::find(op.operands.begin(), op.operands.end(), value) != op.operands.end();
}

bool is_by_wgmma(const Op &op) {
  return op.is(Opcode::dot_) && op.get(attr::instruction_) == "wgmma";
}

// Whether a matmul of `dot` may be in flight during `op`. Outside of a partition, operations may need
// the shared memory of its operands once they have layouts. The stages of a channel are their own.
bool may_overlap(const Op &op, const Op &dot) {
  const bool is_pure = info(op.code).effect == Effect::pure && op.blocks.empty();
  if (partition_of(dot))
    return is_pure || op.is(Opcode::shared_load_) || op.is(Opcode::wgmma_wait_) ||
           op.is(Opcode::get_) || op.is(Opcode::get_done_);
  const bool is_scalar =
      is_pure && std::none_of(op.results.begin(), op.results.end(),
                              [](const Value *value) { return value->type.is_tile(); });
  return is_scalar || op.is(Opcode::splat_) || op.is(Opcode::undef_) ||
         op.is(Opcode::shared_load_) || op.is(Opcode::wgmma_wait_) ||
         (is_by_wgmma(op) && shared_load_of(op.operand(0)));
}

// Whether `op` gives away a stage that `dot` reads.
bool releases_operand(const Op &op, const Op &dot) {
  if (!op.is(Opcode::get_done_))
    return false;
  for (size_t i : {0, 1})
    if (const Op *load = shared_load_of(dot.operand(i)))
      if (const Op *get = load->operand(1)->op; get && get->is(Opcode::get_) &&
                                                get->operands == op.operands &&
                                                get->get(attr::offset_) == op.get(attr::offset_))
        return true;
  return false;
}

// Starts the matmul where the dot is. Waits for it where its result is needed, or where no matmul
// may be in flight. Its operands are released after that.
void issue(Function &fn, Op *dot) {
  Builder builder = Builder::before(fn, dot);
  builder.set_location(dot->location);
  Value *accumulator = dot->operand(2), *adds = nullptr;
  if (is_zero(accumulator)) {
    accumulator = builder.create(Opcode::undef_, {}, {accumulator->type})->result();
    adds = builder.filled(Type::scalar(Elem::i1), 0);
  }
  Value *started = start(builder, *dot, accumulator, adds)->result();
  const std::vector<Op *> &ops = dot->parent->ops;
  size_t place = dot->parent->position_of(dot) + 1;
  int64_t started_later = 0;
  std::vector<Op *> releases;
  for (; may_overlap(*ops[place], *dot) && !uses(*ops[place], dot->result()); place++) {
    started_later += is_by_wgmma(*ops[place]) && shared_load_of(ops[place]->operand(1));
    if (releases_operand(*ops[place], *dot))
      releases.push_back(ops[place]);
  }
  Builder waiting = Builder::before(fn, ops[place]);
  waiting.set_location(dot->location);
  Value *result = wait(waiting, *dot, started, started_later);
  result->name = dot->result()->name;
  replace_uses(*fn.body, dot->result(), result);
  for (auto release = releases.rbegin(); release != releases.rend(); release++)
    move_after(*release, result->op);
  erase(dot);
}

} // namespace

void issue_wgmma_async(Function &fn) {
  std::vector<Op *> dots;
  for_each_op(*fn.body, [&](Op &op) {
    if (is_by_wgmma(op) && shared_load_of(op.operand(1)))
      dots.push_back(&op);
  });
  std::set<const Op *> fenced;
  for (Op *dot : dots)
    if (std::optional<Mainloop> mainloop = mainloop_of(fn, *dot)) {
      leave_in_flight(fn, dot, *mainloop);
    } else {
      fence_writes(fn, *dot, fenced);
      issue(fn, dot);
    }
}

} // namespace tritonc
