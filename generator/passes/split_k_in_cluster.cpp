// split_k_in_cluster: lets the blocks of a cluster divide the K loop of an output tile.
//
//     launch_blocks %b                         launch_blocks %b * 4 {cluster = 4}
//     %p = block_id                            %p = block_id / 4
//     for_loop %n, %zero {                     %part = host_value (%n + 3) / 4
//       (%t, %acc)                             %first = block_id rem 4 * %part
//       %a = tma_load %m, ..., %t * 64         for_loop %part, %zero {
//       ...                                      (%t, %acc)
//       yield %d                          =>     %u = %t + %first
//     }                                          %a = tma_load %m, ..., %u * 64
//     store %v, %sum                             ...
//                                              }
//                                              %sum = cluster_reduce {op = "add"} of the loop's
//                                              store %v, %sum
//
// A matmul with few rows and columns but a long K has too few output tiles for all SMs. So several
// blocks share one tile: each runs a part of the K iterations, and at the end they add their
// accumulators.
//
// Method:  All blocks run the same number of K iterations. The last block may reach past the end of
//          K. There TMA reads zeros, because these coordinates are outside of the tensor map. The
//          blocks add in the order of their ranks, so the result is the same in every run.
//          store_loop_partials is a pass of its own: it divides a loop among two launches, and what
//          follows the loop belongs to the second.
// Needs:   lower_to_tma; make_persistent, which has made one block per program;
//          can_split_k_in_cluster.
// Ensures: after the cluster_reduce, all blocks of a cluster run the same operations.
// Limits:  nothing happens if schedule.split_k is 1. can_split_k_in_cluster requires an f32 or i32
//          accumulator that starts from zero, a loop that carries nothing else, then maybe its
//          transpose (swap_operands), only element-wise operations and one store.
//
// Tested by tests/unit/passes/split_k_in_cluster/ and split_k_in_cluster_test.cpp.

#include "passes/split_k_in_cluster.h"

#include "analysis/affine.h"
#include "analysis/matmul_loop.h"
#include "analysis/memory_access.h"
#include "ir/builder.h"

#include <algorithm>
#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

// Whether each thread can compute `value` for itself: it is a scalar, a view, or a tile that is
// computed from scalars only.
bool is_index(const Value *value) {
  if (!value->type.is_tile() || value->type.is_view())
    return true;
  const Op *op = value->op;
  return op && info(op->code).effect == Effect::pure && !op->is(Opcode::dot_) &&
         !op->is(Opcode::reduce_) && !op->is(Opcode::scan_) && !op->is(Opcode::gather_) &&
         std::all_of(op->operands.begin(), op->operands.end(), is_index);
}

// Whether the operation is element-wise, so that it does not depend on which thread holds which
// element: the cluster_reduce changes the layout.
bool is_by_element(const Op &op) {
  switch (op.code) {
  case Opcode::trans_:
  case Opcode::reshape_:
  case Opcode::dot_:
    return std::all_of(op.operands.begin(), op.operands.end(), is_index);
  case Opcode::reduce_:
  case Opcode::scan_:
  case Opcode::gather_:
    return false;
  default:
    return info(op.code).effect == Effect::pure || op.is(Opcode::load_);
  }
}

// Whether a program has another side effect than `last`. Every block of a cluster would repeat it.
bool does_more_than(Function &fn, const Op &last) {
  bool found = false;
  for_each_op(*fn.body, [&](const Op &op) {
    Effect effect = info(op.code).effect;
    found |= (effect == Effect::write || effect == Effect::io) && &op != &last;
  });
  return found;
}

// Whether no other block can have stored to what `load` loads before: no barrier between blocks
// orders the two. A thread may load the elements that it stores itself.
bool is_loaded_in_time(const Op &load, const Op &store) {
  const Value *root = root_of(load.operand(0)), *stored = root_of(store.operand(0));
  if (root && stored && root != stored)
    return true;
  std::optional<Affine> from = affine_of(load.operand(0)), to = affine_of(store.operand(0));
  return from && to && from->base && from->base == to->base && from->offset == to->offset &&
         from->strides == to->strides &&
         load.operand(0)->type.shape == store.operand(0)->type.shape;
}

// The sum of all K iterations: the accumulator, or after swap_operands its transpose.
Value *sum_of(Function &fn, const MatmulLoop &matmul) {
  Value *accumulator = matmul.loop->results[matmul.carried];
  const std::vector<Op *> users = Users(*fn.body).of(accumulator);
  const bool is_transposed = users.size() == 1 && users[0]->is(Opcode::trans_);
  return is_transposed ? users[0]->result() : accumulator;
}

} // namespace

bool can_split_k_in_cluster(Function &fn) {
  MatmulLoop matmul = *find_matmul_loop(fn).found;
  const Op *loop = matmul.loop;
  Value *sum = sum_of(fn, matmul);
  Elem elem = matmul.dot->result()->type.elem;
  if ((elem != Elem::f32 && elem != Elem::i32) || loop->parent != fn.body ||
      !is_zero(loop->operand(1 + matmul.carried)) || loop->results.size() != 1)
    return false;
  size_t after_sum = fn.body->position_of(sum->op) + 1, store = fn.body->ops.size() - 2;
  const Op &last = *fn.body->ops[store];
  if (store < after_sum || !last.is(Opcode::store_) || does_more_than(fn, last) ||
      last.operand(1)->type.shape != sum->type.shape)
    return false;
  std::set<const Value *> ours = {sum};
  for (size_t i = after_sum; i <= store; i++) {
    const Op &op = *fn.body->ops[i];
    for (const Value *operand : op.operands)
      if (!ours.count(operand) && !is_index(operand))
        return false; // its layout is fixed already
    if (i < store && !is_by_element(op))
      return false;
    if (op.is(Opcode::load_) && !is_loaded_in_time(op, last))
      return false;
    ours.insert(op.results.begin(), op.results.end());
  }
  return true;
}

namespace {

// Replaces each block by a cluster of `split_k` blocks. Returns the rank of a block in its cluster.
Value *make_clusters(Function &fn, int64_t split_k) {
  Op *launch = nullptr, *id = nullptr;
  for (Op *op : fn.body->ops) {
    launch = op->is(Opcode::launch_blocks_) ? op : launch;
    id = op->is(Opcode::block_id_) ? op : id;
  }
  assert(launch && id && "make_persistent has made them");
  Builder host = Builder::before(fn, launch);
  host.set_location(launch->location);
  launch->operands[0] = host.mul(launch->operand(0), host.i32(split_k));
  launch->set(attr::cluster_, split_k);

  Builder builder = Builder::after(fn, id);
  builder.set_location(id->location);
  Value *block = id->result(), *blocks = builder.i32(split_k);
  Value *cluster = builder.binary(Opcode::div_, block, blocks);
  replace_uses(*fn.body, block, cluster);
  cluster->op->operands[0] = block;
  return builder.binary(Opcode::rem_, block, blocks);
}

} // namespace

void take_part_of_steps(Function &fn, Op *loop, Value *first, Value *count) {
  loop->operands[0] = count;
  Block &body = *loop->blocks[0];
  Value *iteration = body.arguments[0];
  Builder inside(fn, &body, 0);
  inside.set_location(loop->location);
  Value *step = inside.add(iteration, first);
  replace_uses(body, iteration, step);
  step->op->operands[0] = iteration;
}

void split_k_in_cluster(Function &fn, const Schedule &schedule) {
  if (schedule.split_k == 1)
    return;
  std::optional<MatmulLoop> matmul = find_matmul_loop(fn).found;
  assert(matmul && "candidate_schedules has looked");
  Op *loop = matmul->loop;
  Value *rank = make_clusters(fn, schedule.split_k);
  Builder builder = Builder::before(fn, loop);
  builder.set_location(loop->location);

  Value *iterations = loop->operand(0), *part = nullptr;
  if (iterations->op && iterations->op->is(Opcode::host_value_))
    iterations = iterations->op->operand(0);
  if (std::optional<int64_t> count = constant_of(iterations)) {
    part = builder.i32((*count + schedule.split_k - 1) / schedule.split_k);
  } else {
    Value *rounded = builder.add(iterations, builder.i32(schedule.split_k - 1));
    rounded = builder.binary(Opcode::div_, rounded, builder.i32(schedule.split_k));
    part = builder.create(Opcode::host_value_, {rounded}, {Type::scalar(Elem::i32)})->result();
  }
  part->name = "part";
  Value *first = builder.mul(rank, part);

  take_part_of_steps(fn, loop, first, part);
  Value *own = sum_of(fn, *matmul);
  Op *sum = Builder::after(fn, own->op).create(Opcode::cluster_reduce_, {own}, {own->type});
  sum->location = loop->location;
  sum->set(attr::blocks_, schedule.split_k);
  sum->set(attr::op_, "add");
  sum->result()->name = own->name;
  replace_uses(*fn.body, own, sum->result());
  sum->operands[0] = own;
}

} // namespace tritonc
