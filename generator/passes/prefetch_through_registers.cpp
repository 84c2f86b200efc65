// prefetch_through_registers: loads the operands of a loop into registers two iterations ahead.
//
//                                              %a0 = load view(0), if 0 < n
//                                              shared_store %a0, %s, 0
//                                              %a1 = load view(1), if 0 < n
//     for_loop %n, %c {                        for_loop %n, %c, %a1 {
//       (%t, %acc)                               (%t, %acc, %a)
//       %a = load view(t)                        %f0 = shared_load %s, t mod 2
//       shared_store %a, %s, 0                   %d0 = dot %f0, ..., %acc
//       %f0 = shared_load %s, 0                  %f1 = shared_load %s, t mod 2
//       %d0 = dot %f0, ..., %acc        =>       shared_store %a, %s, (t+1) mod 2
//       %f1 = shared_load %s, 0                  %a2 = load view(t+2)
//       %d1 = dot %f1, ..., %d0                  %d1 = dot %f1, ..., %d0
//       yield %d1                                yield %d1, %a2
//     }                                        }
//
// A load has a whole iteration to complete. The threads wait for each other once per iteration, not
// twice.
//
// Method:  Before its last dot, iteration t stores the tile of iteration t + 1, which the loop
//          carries in registers, and loads the tile of iteration t + 2. The last two iterations
//          have nothing to load. They load the last tile again, which needs no branch.
// Needs:   split_dots_along_k, so that only the last dot follows the stores and loads.
// Ensures: a stage is written one iteration after its last read (insert_barriers inserts the
//          barrier).
// Limits:  only on GPUs without cp.async: elsewhere pipeline_loops is better. Only for
//          pipelinable_loads, in loops with a dot directly in them. Two stages must fit in the
//          GPU's shared memory, beside the other buffers of the loop. Otherwise nothing happens.
//
// Tested by tests/unit/passes/prefetch_through_registers/.

#include "passes/prefetch_through_registers.h"

#include "analysis/pipelinable_loads.h"
#include "analysis/repeated_loads.h"
#include "ir/builder.h"

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t stages = 2;

struct State {
  Function &fn;
  Op &loop;
  const Gpu &gpu;

  Block &body() { return *loop.blocks[0]; }
  Value *counter() { return body().arguments[0]; }

  Op *last_dot() {
    Op *last = nullptr;
    for (Op *op : body().ops)
      if (op->is(Opcode::dot_))
        last = op;
    return last;
  }

  // The iteration that follows `now` by `ahead` (null: iteration `ahead`), at most the last one.
  Value *iteration(Builder &builder, Value *now, int64_t ahead) {
    Value *wanted = builder.i32(ahead);
    if (now)
      wanted = builder.add(now, wanted);
    Value *last = builder.sub(loop.operand(0), builder.i32(1));
    return builder.binary(Opcode::min_, wanted, last);
  }

  // Loads what `staged` loads in `iteration`. `exists` is an additional mask; null = none.
  Value *load_again(Builder &builder, const PipelinableLoad &staged, Value *iteration,
                    Value *exists) {
    builder.set_location(staged.load->location);
    const bool is_masked = exists || staged.load->operand_or_null(1);
    Value *zero = is_masked ? builder.filled(staged.load->result()->type, 0) : nullptr;
    return load_in_iteration(builder, *staged.load, iteration, exists, zero);
  }

  // Gives the buffer two stages and moves it before the loop.
  void widen(const PipelinableLoad &staged) {
    Op *alloc = staged.buffer->op;
    alloc->result()->type.shape[0] = stages;
    erase(alloc);
    alloc->parent = loop.parent;
    loop.parent->ops.insert(loop.parent->ops.begin() + loop.parent->position_of(&loop), alloc);
  }

  Value *stage(Builder &builder, int64_t ahead) {
    Op *op = builder.create(Opcode::stage_index_, {counter()}, {Type::scalar(Elem::i32)});
    op->set(attr::offset_, ahead);
    op->set(attr::stages_, stages);
    return op->result();
  }

  void run() {
    std::vector<PipelinableLoad> loads = pipelinable_loads(fn, loop);
    Op *dot = last_dot();
    int64_t bytes = bytes_beside(loads, loop);
    for (const PipelinableLoad &staged : loads)
      bytes += stages * staged.bytes();
    if (loads.empty() || !dot || bytes > gpu.max_shared_bytes)
      return;

    Builder top(fn, &body(), size_t(0));
    top.set_location(loads[0].load->location);
    Value *now = stage(top, 0);
    for (const PipelinableLoad &staged : loads) {
      widen(staged);
      for (Op *user : users_of(body(), staged.buffer))
        if (user->is(Opcode::shared_load_))
          user->operands[1] = now;
    }
    Builder before = Builder::before(fn, &loop);
    before.set_location(loads[0].load->location);
    Value *exists = before.cmp("lt", before.i32(0), loop.operand(0));
    Value *first = before.i32(0), *second = iteration(before, nullptr, 1);
    for (const PipelinableLoad &staged : loads)
      before.create(Opcode::shared_store_,
                    {load_again(before, staged, first, exists), staged.buffer, first});
    std::vector<Value *> arguments;
    for (const PipelinableLoad &staged : loads)
      arguments.push_back(add_carried(fn, loop, load_again(before, staged, second, exists)));

    Builder last = Builder::before(fn, dot);
    last.set_location(loads[0].load->location);
    Value *next = stage(last, 1);
    for (size_t i = 0; i < loads.size(); i++)
      last.create(Opcode::shared_store_, {arguments[i], loads[i].buffer, next});
    Value *later = iteration(last, counter(), 2);
    for (const PipelinableLoad &staged : loads) {
      Value *loaded = load_again(last, staged, later, nullptr);
      body().terminator()->operands.push_back(loaded);
    }
    for (const PipelinableLoad &staged : loads) {
      erase(staged.store);
      erase(staged.load);
    }
  }
};

} // namespace

void prefetch_through_registers(Function &fn, const Gpu &gpu) {
  if (gpu.has_cp_async)
    return;
  std::vector<Op *> loops;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::for_loop_))
      loops.push_back(&op);
  });
  for (Op *loop : loops)
    State{fn, *loop, gpu}.run();
}

} // namespace tritonc
