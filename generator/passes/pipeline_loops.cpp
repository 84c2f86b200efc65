// pipeline_loops: copies the operands of a loop from global memory several iterations ahead.
//
//     for_loop %n, %c {                   async_copy view(0), %s, stage 0, if 0 < n
//       (%t, %acc)                        async_commit
//       %v = view %A, formula of %t       for_loop %n, %c {
//       %a = load %v                        (%t, %acc)
//       shared_store %a, %s, stage 0        async_wait {pending = 0}
//       %f = shared_load %s, stage 0        async_copy view(t+1), %s, other stage, if t+1 < n
//       %d = dot %f, ...             =>     async_commit
//       yield %d                            %f = shared_load %s, stage t mod 2
//     }                                     %d = dot %f, ...
//                                           yield %d
//                                         }
//                                         async_wait {pending = 0}
//
// (two stages here). cp.async copies to shared memory without registers in between. The loop waits
// only for the copies that it started (stages - 1) iterations ago, so their latency is hidden.
//
// Method:  Stages: as many as fit in half of the GPU's shared memory, so that an SM can run two
//          blocks; at least 2 and at most 4. The multistage schedule has one block per SM. Its
//          stages may fill all of shared memory, and there are at most 8: with four copies in
//          flight, memory latency is too long to keep memory busy.
//
//          Where the only dot of the loop accumulates by wgmma, it still reads the stage of the
//          previous iteration when the next copies start. So there is one more stage.
//
//          Each copy is guarded by "this iteration exists", unless its mask already implies that.
//          A guard costs one or two instructions before the first matmul can start.
// Needs:   stage_operands; loops whose addresses are formulas of the counter (expand_inductions).
// Ensures: at least one barrier stands between the last read of a stage and the next write to it
//          (insert_barriers inserts it). A stage is read only after the wait that covers its copy.
// Limits:  the GPU must have cp.async; otherwise nothing happens. At least 4 bytes must be
//          contiguous and aligned. A mask is allowed if the load gives zero where the mask is off.
//          A load with another use than its shared_store stays. In a loop that stores to global
//          memory, a load stays unless its pointer is a parameter that is read-only and has no
//          alias. If fewer than 2 stages (3 with such a wgmma) fit beside the other buffers of the
//          loop, the loop stays as it is.
//
// Tested by tests/unit/passes/pipeline_loops/ and pipeline_loops_test.cpp.

#include "passes/pipeline_loops.h"

#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "analysis/pipelinable_loads.h"
#include "analysis/tensor_access.h"
#include "ir/builder.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t max_stages = 4, max_stages_alone = 8;
constexpr int min_copy_bytes = 4;
constexpr int widest_copy_bytes = 16;

// A load that becomes a copy of `vector` elements per instruction.
struct Candidate : PipelinableLoad {
  int vector;
};

struct State {
  Function &fn;
  Op &loop;
  const Gpu &gpu;
  bool alone; // one block per SM
  Block &body() { return *loop.blocks[0]; }
  Value *counter() { return body().arguments[0]; }

  std::optional<Candidate> candidate(const PipelinableLoad &staged) {
    const Op *load = staged.load;
    Value *mask = load->operand_or_null(1);
    int bytes = bytes_of(load->result()->type.elem);
    int vector = std::min(vector_elements(load->operand(0), mask, fn), widest_copy_bytes / bytes);
    // A copy of several elements requires that they are contiguous in global memory and in the
    // buffer.
    std::optional<int> axis = contiguous_axis(load->operand(0), fn);
    if (axis && !has_neighbors(staged.buffer->type, *axis))
      vector = 1;
    if (vector * bytes < min_copy_bytes)
      return std::nullopt;
    return Candidate{staged, vector};
  }

  // The counter of the iteration that follows `from` by `ahead`, and whether that iteration exists.
  struct Iteration {
    Value *counter, *exists;
  };
  Iteration iteration(Builder &builder, Value *from, int64_t ahead) {
    Value *counter = builder.i32(ahead);
    if (from)
      counter = builder.add(from, counter);
    return {counter, builder.cmp("lt", counter, loop.operand(0))};
  }

  // Whether `mask` is off in all iterations past the end of the loop. set_k_tile makes such masks:
  // `times` iterations of the source become one, and the mask is off after the last of them.
  bool ends_with_loop(const Value *mask) {
    const Op *iterations = loop.operand(0)->op;
    if (!iterations || !iterations->is(Opcode::div_))
      return false;
    int64_t times = constant_of(iterations->operand(1)).value_or(0);
    if (times <= 0)
      return false;
    Poly steps = poly_of(iterations->operand(0)) - Poly::constant(times - 1);
    std::vector<Bound> bounds = bounds_of(mask, mask->type.rank()).value_or(std::vector<Bound>());
    return std::any_of(bounds.begin(), bounds.end(), [&](const Bound &bound) {
      int64_t columns = mask->type.shape[size_t(bound.axis)];
      return columns % times == 0 &&
             bound.before == Poly::symbol(counter()) * Poly::constant(columns) -
                                 steps * Poly::constant(columns / times);
    });
  }

  Value *stage(Builder &builder, Value *counter, int64_t ahead, int64_t stages) {
    Op *op = builder.create(Opcode::stage_index_, {counter}, {Type::scalar(Elem::i32)});
    op->set(attr::offset_, ahead);
    op->set(attr::stages_, stages);
    return op->result();
  }

  // Starts the copies for the iteration that follows `from` by `ahead`; null: iteration `ahead`.
  void start_copies(Builder &builder, const std::vector<Candidate> &candidates, Value *from,
                    int64_t ahead, int64_t stages) {
    Iteration then = iteration(builder, from, ahead);
    Value *into =
        from ? stage(builder, from, ahead, stages) : stage(builder, then.counter, 0, stages);
    for (const Candidate &candidate : candidates) {
      builder.set_location(candidate.load->location);
      Copies copies = {{counter(), then.counter}};
      Value *view = clone_computation(builder, candidate.load->operand(0), &body(), copies);
      std::vector<Value *> operands = {view, candidate.buffer, into, then.exists};
      if (Value *mask = candidate.load->operand_or_null(1)) {
        if (ends_with_loop(mask))
          operands.back() = builder.filled(Type::scalar(Elem::i1), 1);
        operands.push_back(clone_computation(builder, mask, &body(), copies));
      }
      Op *copy = builder.create(Opcode::async_copy_, operands);
      copy->set(attr::vector_, int64_t(candidate.vector));
    }
    builder.create(Opcode::async_commit_, {});
  }

  void wait(Builder &builder, int64_t pending) {
    builder.create(Opcode::async_wait_, {})->set(attr::pending_, pending);
  }

  // Gives the buffer `stages` stages and moves it before the loop.
  void widen(const Candidate &candidate, int64_t stages) {
    Op *alloc = candidate.buffer->op;
    alloc->result()->type.shape[0] = stages;
    erase(alloc);
    alloc->parent = loop.parent;
    loop.parent->ops.insert(loop.parent->ops.begin() + loop.parent->position_of(&loop), alloc);
  }

  // Lets readers use the stage of this iteration. Removes the load through registers.
  void read_from(const Candidate &candidate, Value *now) {
    for (Op *user : users_of(body(), candidate.buffer))
      if (user->is(Opcode::shared_load_))
        user->operands[1] = now;
    erase(candidate.store);
    erase(candidate.load);
  }

  // Stages that must stay valid while copies start: that of the next matmul and, where
  // issue_wgmma_async leaves a matmul in flight, that of the previous one.
  int64_t stages_in_use() {
    const Op *only = nullptr;
    for (const Op *op : body().ops) {
      if (!op->is(Opcode::dot_))
        continue;
      if (only)
        return 1;
      only = op;
    }
    const std::vector<Value *> &carried = body().terminator()->operands;
    bool runs_on = only && only->get(attr::instruction_) == "wgmma" &&
                   std::count(carried.begin(), carried.end(), only->result()) &&
                   count_uses(*fn.body, only->result()) == 1;
    return runs_on ? 2 : 1;
  }

  void run() {
    std::vector<Candidate> candidates;
    int64_t bytes = 0;
    for (const PipelinableLoad &staged : pipelinable_loads(fn, loop))
      if (std::optional<Candidate> found = candidate(staged)) {
        candidates.push_back(*found);
        bytes += found->bytes();
      }
    const int64_t in_use = stages_in_use(), min_count = in_use + 1;
    if (candidates.empty())
      return;
    int64_t fitting =
        (gpu.max_shared_bytes - bytes_beside({candidates.begin(), candidates.end()}, loop)) / bytes;
    if (fitting < min_count)
      return;
    int64_t max_count = std::min((alone ? max_stages_alone : max_stages) + in_use - 1, fitting);
    int64_t stages =
        std::clamp(gpu.max_shared_bytes / (alone ? 1 : 2) / bytes, min_count, max_count);
    const int64_t ahead = stages - in_use;

    for (const Candidate &candidate : candidates)
      widen(candidate, stages);
    Builder before = Builder::before(fn, &loop);
    for (int64_t iteration = 0; iteration < ahead; iteration++)
      start_copies(before, candidates, nullptr, iteration, stages);
    Builder top(fn, &body(), 0);
    Location location = candidates[0].load->location;
    top.set_location(location);
    wait(top, ahead - 1);
    start_copies(top, candidates, counter(), ahead, stages);
    Value *now = stage(top, counter(), 0, stages);
    for (const Candidate &candidate : candidates)
      read_from(candidate, now);
    // The copies of iterations past the end write zeros. Another buffer may reuse their stages only
    // after that.
    Builder after = Builder::after(fn, &loop);
    after.set_location(location);
    wait(after, 0);
  }
};

} // namespace

void pipeline_loops(Function &fn, const Gpu &gpu, const Schedule &schedule) {
  if (!gpu.has_cp_async)
    return;
  std::vector<Op *> loops;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::for_loop_))
      loops.push_back(&op);
  });
  for (Op *loop : loops)
    State{fn, *loop, gpu, schedule.kind == Schedule::Kind::multistage}.run();
}

} // namespace tritonc
