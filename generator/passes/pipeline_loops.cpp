// pipeline_loops: copy what a loop needs from global memory several iterations ahead.
//
//     for_loop %n, %c {                   async_copy view(0), %s, slot 0, if 0 < n
//       (%t, %acc)                        async_commit
//       %v = view %A, formula of %t       for_loop %n, %c {
//       %a = load %v                        (%t, %acc)
//       shared_store %a, %s, slot 0         async_wait {pending = 0}
//       %f = shared_load %s, slot 0         async_copy view(t+1), %s, other slot, if t+1 < n
//       %d = dot %f, ...             =>     async_commit
//       yield %d                            %f = shared_load %s, slot t mod 2
//     }                                     %d = dot %f, ...
//                                           yield %d
//                                         }
//                                         async_wait {pending = 0}
//
// (two slots here). The copies go to shared memory without passing through registers, and the loop
// waits only for those that it started slots - 1 iterations ago.
//
// Slots. As many as fit half of the GPU's shared memory, so that two programs can share a
// multiprocessor, but at least 2 and at most 4; where even 2 don't fit beside what else the loop
// needs, it stays as it is. A block that is alone has all of it, for at most 8: memory takes so
// long to answer that four are not enough under way to keep it busy. wgmma still reads the slot of
// the iteration before when the next copies start, so there is one more then.
//
// A copy asks whether there is its iteration, unless its mask says so: each question is an
// instruction or two, before the first product can start.
//
// Needs:   stage_operands; loops whose addresses are formulas of the counter (close_inductions).
// Ensures: every slot is written at least one barrier after it was last read (insert_barriers sees
//          to it), and read only after the wait that covers its copy.
// Limits:  the GPU must have cp.async; at least 4 bytes must be contiguous and aligned; loads may
//          be masked, with zero where the mask is off; loads that feed anything but the dot stay,
//          and so do those in loops that store to global memory, unless the pointer is a parameter
//          that is read only and has no alias.
//
// Tested by tests/passes/pipeline_loops_test.cpp.

#include "passes/pipeline_loops.h"

#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "analysis/staged_load.h"
#include "analysis/tensor_access.h"
#include "ir/builder.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t most_slots = 4, most_slots_alone = 8;
constexpr int least_copy_bytes = 4;
constexpr int widest_copy_bytes = 16;

// A load that becomes a copy, of so many elements at a time.
struct Candidate : StagedLoad {
  int vector;
};

struct State {
  Function &fn;
  Op &loop;
  const Gpu &gpu;
  bool alone; // on its multiprocessor
  Block &body() { return *loop.blocks[0]; }
  Value *counter() { return body().arguments[0]; }

  std::optional<Candidate> candidate(const StagedLoad &staged) {
    const Op *load = staged.load;
    Value *mask = load->operand_or_null(1);
    int bytes = bytes_of(load->result()->type.elem);
    int vector = std::min(vector_elements(load->operand(0), mask, fn), widest_copy_bytes / bytes);
    // Elements that are side by side in global memory must be so in the buffer, in whole chunks,
    // or are copied one by one.
    std::optional<int> axis = contiguous_axis(load->operand(0));
    if (axis && !has_neighbours(staged.buffer->type, *axis))
      vector = 1;
    if (vector * bytes < least_copy_bytes)
      return std::nullopt;
    return Candidate{staged, vector};
  }

  // The counter of the iteration `ahead` of the present one, and whether there is one.
  struct Iteration {
    Value *counter, *exists;
  };
  Iteration iteration(Builder &builder, Value *from, int64_t ahead) {
    Value *counter = builder.i32(ahead);
    if (from)
      counter = builder.add(from, counter);
    return {counter, builder.cmp("lt", counter, loop.operand(0))};
  }

  // Whether a mask is off in all iterations that there are not. widen_steps makes such: of n steps
  // of the source, `times` are one iteration, and only as many columns are on as n steps have.
  bool ends_with_loop(const Value *mask) {
    const Value *trips = loop.operand(0);
    std::optional<std::vector<Bound>> bounds = bounds_of(mask, mask->type.rank());
    if (!bounds || !trips->op || !trips->op->is(Opcode::div_) ||
        !constant_of(trips->op->operand(1)))
      return false;
    int64_t times = *constant_of(trips->op->operand(1));
    Poly steps = poly_of(trips->op->operand(0)) - Poly::constant(times - 1);
    return std::any_of(bounds->begin(), bounds->end(), [&](const Bound &bound) {
      int64_t columns = mask->type.shape[size_t(bound.axis)];
      return columns % times == 0 &&
             bound.before == Poly::symbol(counter()) * Poly::constant(columns) -
                                 steps * Poly::constant(columns / times);
    });
  }

  Value *slot(Builder &builder, Value *counter, int64_t ahead, int64_t slots) {
    Op *op = builder.create(Opcode::ring_slot_, {counter}, {Type::scalar(Elem::i32)});
    op->set("ahead", ahead);
    op->set("slots", slots);
    return op->result();
  }

  // Starts the copies for iteration `ahead` after `from` (null: after the loop's start).
  void start_copies(Builder &builder, const std::vector<Candidate> &candidates, Value *from,
                    int64_t ahead, int64_t slots) {
    Iteration then = iteration(builder, from, ahead);
    Value *into = from ? slot(builder, from, ahead, slots) : slot(builder, then.counter, 0, slots);
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
      copy->set("vector", int64_t(candidate.vector));
    }
    builder.create(Opcode::async_commit_, {});
  }

  void wait(Builder &builder, int64_t pending) {
    builder.create(Opcode::async_wait_, {})->set("pending", pending);
  }

  // The buffer gets `slots` slots and lives outside of the loop.
  void widen(const Candidate &candidate, int64_t slots) {
    Op *alloc = candidate.buffer->op;
    alloc->result()->type.shape[0] = slots;
    erase(alloc);
    alloc->parent = loop.parent;
    loop.parent->ops.insert(loop.parent->ops.begin() + loop.parent->position_of(&loop), alloc);
  }

  // Readers use the slot of the iteration; the load through registers goes.
  void read_from(const Candidate &candidate, Value *now) {
    for (Op *user : users_of(body(), candidate.buffer))
      if (user->is(Opcode::shared_load_))
        user->operands[1] = now;
    erase(candidate.store);
    erase(candidate.load);
  }

  // Slots that are read while copies start: by the product that follows, and by one under way.
  int64_t slots_in_use() {
    auto runs_on = [](const Op *op) {
      return op->is(Opcode::dot_) && op->text("instruction") == "wgmma";
    };
    return std::any_of(body().ops.begin(), body().ops.end(), runs_on) ? 2 : 1;
  }

  void run() {
    std::vector<Candidate> candidates;
    int64_t bytes = 0;
    for (const StagedLoad &staged : staged_loads(fn, loop))
      if (std::optional<Candidate> found = candidate(staged)) {
        candidates.push_back(*found);
        bytes += found->bytes();
      }
    const int64_t in_use = slots_in_use(), least = in_use + 1;
    if (candidates.empty())
      return;
    int64_t fitting =
        (gpu.max_shared_bytes - bytes_beside({candidates.begin(), candidates.end()}, loop)) / bytes;
    if (fitting < least)
      return;
    int64_t most = std::min((alone ? most_slots_alone : most_slots) + in_use - 1, fitting);
    int64_t slots = std::clamp(gpu.max_shared_bytes / (alone ? 1 : 2) / bytes, least, most);
    const int64_t ahead = slots - in_use;

    for (const Candidate &candidate : candidates)
      widen(candidate, slots);
    Builder before = Builder::before(fn, &loop);
    for (int64_t trip = 0; trip < ahead; trip++)
      start_copies(before, candidates, nullptr, trip, slots);
    Builder top(fn, &body(), 0);
    Location location = candidates[0].load->location;
    top.set_location(location);
    wait(top, ahead - 1);
    start_copies(top, candidates, counter(), ahead, slots);
    Value *now = slot(top, counter(), 0, slots);
    for (const Candidate &candidate : candidates)
      read_from(candidate, now);
    // The copies of iterations that don't exist write zeros; nobody may reuse their slots before.
    Builder behind = Builder::after(fn, &loop);
    behind.set_location(location);
    wait(behind, 0);
  }
};

} // namespace

void pipeline_loops(Function &fn, const Gpu &gpu, const Structure &structure) {
  if (!gpu.has_cp_async)
    return;
  std::vector<Op *> loops;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::for_loop_))
      loops.push_back(&op);
  });
  for (Op *loop : loops)
    State{fn, *loop, gpu, structure.alone}.run();
}

} // namespace tritonc
