// issue_wgmma_async: turns a dot into an asynchronous wgmma, and waits for it where its result is used.
//
//     shared_store %q, %sq                      shared_store %q, %sq
//     ...                                       proxy_fence
//     %a = shared_load %sq                      ...
//     %b = shared_load %sb, stage t      =>     %p = wgmma_ss %sq, %sb, stage t, %acc
//     %d = dot %a, %b, %acc                     %d = wgmma_wait %p {pending = 0}
//     %x = exp2 %d                              %x = exp2 %d
//     %e = dot %x, %v, %sum                     %r = wgmma_rs %x, %sv, stage t, %sum
//                                               %e = wgmma_wait %r {pending = 0}
//
// wgmma reads its operands from shared memory, so no thread loads them. Meanwhile the warps compute
// what does not depend on it.
//
// Method:  The wait is where the result is used, or before an operation that touches memory.
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
// Needs:   pipeline_wgmma, which takes the dots that may stay in flight longer; specialize_warps, or
//          stage_operands and pipeline_loops.
// Ensures: no dot with the instruction wgmma and operands in shared memory is left. A fence stands
//          after each write of threads to a buffer that wgmma reads.
// Limits:  both operands must be contiguous along K, or have 16-bit elements.
//
// Tested by tests/unit/passes/issue_wgmma_async/.

#include "passes/issue_wgmma_async.h"

#include "ir/builder.h"
#include "passes/wgmma.h"

#include <algorithm>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

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
  Value *started = start_wgmma(builder, *dot, accumulator, adds)->result();
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
  Value *result = wait_for_wgmma(waiting, *dot, started, started_later);
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
  for (Op *dot : dots) {
    fence_writes(fn, *dot, fenced);
    issue(fn, dot);
  }
}

} // namespace tritonc
