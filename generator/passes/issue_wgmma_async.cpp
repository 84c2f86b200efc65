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
// Needs:   pipeline_loops; a multistage_wgmma schedule, for which candidate_schedules has checked
//          that all operands are copied ahead.
// Ensures: no dot with the instruction wgmma is left.
// Limits:  both operands must be contiguous along K, or have 16-bit elements.
//
// Tested by tests/unit/passes/issue_wgmma_async/.

#include "passes/issue_wgmma_async.h"

#include "ir/builder.h"

#include <algorithm>
#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

void move_after(Op *op, Op *place) {
  Block &block = *place->parent;
  erase(op);
  op->parent = &block;
  block.ops.insert(block.ops.begin() + ptrdiff_t(block.position_of(place)) + 1, op);
}

struct State {
  Function &fn;
  Op *dot;
  Block &body = *dot->parent;
  Op *loop = body.parent;
  std::vector<int64_t> warpgroups = dot->get(attr::warpgroups_);

  Value *wait(Builder &builder, Value *accumulator, int64_t pending) {
    Op *op = builder.create(Opcode::wgmma_wait_, {accumulator}, {accumulator->type});
    op->set(attr::pending_, pending);
    op->set(attr::warpgroups_, warpgroups);
    return op->result();
  }

  // Creates the wgmma, which reads the operands of `dot` from shared memory.
  Op *start(Builder &builder) {
    const Op *loads[2] = {dot->operand(0)->op, dot->operand(1)->op};
    std::vector<Value *> operands;
    std::vector<int64_t> perms;
    for (const Op *load : loads) {
      operands.insert(operands.end(), {load->operand(0), load->operand(1)});
      std::vector<int64_t> perm = load->get(attr::perm_);
      perms.insert(perms.end(), perm.begin(), perm.end());
    }
    operands.push_back(dot->operand(2));
    Op *matmul = builder.create(Opcode::wgmma_ss_, std::move(operands), {dot->result()->type});
    matmul->set(attr::perms_, perms);
    matmul->set(attr::warpgroups_, warpgroups);
    if (dot->has(attr::precision_))
      matmul->set(attr::precision_, std::string(dot->get(attr::precision_)));
    if (dot->has(attr::unsigned_))
      matmul->set(attr::unsigned_);
    return matmul;
  }

  // Waits after the loop for the last matmul.
  void finish(Value *unfinished) {
    Builder builder = Builder::after(fn, loop);
    builder.set_location(dot->location);
    Value *accumulator = fn.new_value(unfinished->type); // a temporary for the users
    replace_uses(*loop->parent, unfinished, accumulator);
    Value *finished = wait(builder, unfinished, 0);
    finished->name = unfinished->name;
    replace_uses(*loop->parent, accumulator, finished);
  }

  void run() {
    std::vector<Op *> copies; // in order, with the commit
    Op *waited = nullptr;
    for (Op *op : body.ops) {
      if (op->is(Opcode::async_copy_) || op->is(Opcode::async_commit_))
        copies.push_back(op);
      if (op->is(Opcode::async_wait_))
        waited = op;
    }
    assert(waited && "candidate_schedules has looked");
    // If the loop could be skipped, the accumulator could come from elsewhere than wgmma. Then
    // ptxas makes every wgmma wait for the one before (C7515). So the loop always runs an
    // iteration: copies out of range write zeros, so their matmul adds zero.
    Builder before = Builder::before(fn, loop);
    before.set_location(loop->location);
    loop->operands[0] = before.binary(Opcode::max_, loop->operand(0), before.i32(1));
    Builder fence = Builder::after(fn, waited);
    fence.set_location(dot->location);
    fence.create(Opcode::proxy_fence_, {});
    Builder builder = Builder::before(fn, dot);
    builder.set_location(dot->location);
    Op *matmul = start(builder);
    for (auto copy = copies.rbegin(); copy != copies.rend(); copy++)
      move_after(*copy, matmul);
    Builder after = Builder::before(fn, dot);
    after.set_location(dot->location);
    Value *accumulator = wait(after, matmul->result(), 1);
    accumulator->name = dot->result()->name;
    std::vector<Value *> &next = body.terminator()->operands;
    auto carried = std::find(next.begin(), next.end(), dot->result());
    assert(carried != next.end() && "the loop carries the accumulator");
    *carried = accumulator;
    finish(loop->results[size_t(carried - next.begin())]);
    erase(dot);
  }
};

} // namespace

void issue_wgmma_async(Function &fn) {
  std::vector<Op *> dots;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::dot_) && op.get(attr::instruction_) == "wgmma")
      dots.push_back(&op);
  });
  for (Op *dot : dots)
    State{fn, dot}.run();
}

} // namespace tritonc
