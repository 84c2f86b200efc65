// split_sums: let the blocks of a cluster divide the sum of a product among them.
//
//     launch_blocks %b                         launch_blocks %b * 4 {cluster = 4}
//     %p = block_id                            %p = block_id / 4
//     for_loop %n, %zero {                     %part = host_value (%n + 3) / 4
//       (%t, %acc)                             %first = block_id rem 4 * %part
//       %a = map_load %m, ..., %t * 64         for_loop %part, %zero {
//       ...                                      (%t, %acc)
//       yield %d                          =>     %u = %t + %first
//     }                                          %a = map_load %m, ..., %u * 64
//     store %v, %sum                             ...
//                                              }
//                                              %sum = cluster_sum {blocks = 4} of the loop's
//                                              store %v, %sum
//
// A product of few rows and columns but many steps along K has too few tiles for all
// multiprocessors: so several work on one tile, each on its part of the steps, and add what they
// have in the end. They add in the order of the blocks, so the result is the same each time.
//
// Every block takes as many steps. Those of the last that lie behind the end of K read zeros, since
// that is what lies outside of a tensor map.
//
// Needs:   use_tensor_maps; persist_programs, which has made a block for each program;
//          can_split_sums.
// Ensures: what comes behind the cluster_sum is the same in all blocks.
//
// Tested by tests/passes/split_sums_test.cpp.

#include "passes/split_sums.h"

#include "analysis/affine.h"
#include "analysis/memory_access.h"
#include "analysis/product_loop.h"
#include "ir/builder.h"

#include <algorithm>
#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

// Whether `value` is no tile, or one that each thread can compute for itself. Views are their
// scalars.
bool is_index(const Value *value) {
  if (!value->type.is_tile() || value->type.is_view())
    return true;
  const Op *op = value->op;
  return op && info(op->code).effect == Effect::pure && !op->is(Opcode::dot_) &&
         !op->is(Opcode::reduce_) && !op->is(Opcode::scan_) && !op->is(Opcode::gather_) &&
         std::all_of(op->operands.begin(), op->operands.end(), is_index);
}

// Whether threads that have other elements of the operands than they had can go on with the
// operation: it is done element by element.
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

// Whether a program does anything but what `last` does that must be done once only: every block of
// a cluster does what comes before the sum.
bool does_more_than(Function &fn, const Op &last) {
  bool found = false;
  for_each_op(*fn.body, [&](const Op &op) {
    Effect effect = info(op.code).effect;
    found |= (effect == Effect::write || effect == Effect::report) && &op != &last;
  });
  return found;
}

// Whether no other block can have stored what `load` loads: nothing lets the blocks wait for each
// other between the two. What a thread stores it may have loaded.
bool is_loaded_in_time(const Op &load, const Op &store) {
  const Value *root = root_of(load.operand(0)), *stored = root_of(store.operand(0));
  if (root && stored && root != stored)
    return true;
  std::optional<Affine> from = affine_of(load.operand(0)), to = affine_of(store.operand(0));
  return from && to && from->base && from->base == to->base && from->offset == to->offset &&
         from->strides == to->strides &&
         load.operand(0)->type.shape == store.operand(0)->type.shape;
}

} // namespace

bool can_split_sums(Function &fn) {
  ProductLoop product = *find_product_loop(fn).found;
  const Op *loop = product.loop;
  Elem elem = product.dot->result()->type.elem;
  if ((elem != Elem::f32 && elem != Elem::i32) || loop->parent != fn.body ||
      !is_zero(loop->operand(1 + product.carried)) || loop->results.size() != 1)
    return false;
  size_t behind = fn.body->position_of(loop) + 1, store = fn.body->ops.size() - 2;
  const Op &last = *fn.body->ops[store];
  if (store < behind || !last.is(Opcode::store_) || does_more_than(fn, last) ||
      last.operand(1)->type.shape != product.dot->result()->type.shape)
    return false;
  std::set<const Value *> ours(loop->results.begin(), loop->results.end());
  for (size_t i = behind; i <= store; i++) {
    const Op &op = *fn.body->ops[i];
    for (const Value *operand : op.operands)
      if (!ours.count(operand) && !is_index(operand))
        return false; // which threads have it is settled
    if (i < store && !is_by_element(op))
      return false;
    if (op.is(Opcode::load_) && !is_loaded_in_time(op, last))
      return false;
    ours.insert(op.results.begin(), op.results.end());
  }
  return true;
}

namespace {

// Lets a cluster of `splits` blocks do what a block does. Returns which of them a block is.
Value *make_clusters(Function &fn, int64_t splits) {
  Op *launch = nullptr, *id = nullptr;
  for (Op *op : fn.body->ops) {
    launch = op->is(Opcode::launch_blocks_) ? op : launch;
    id = op->is(Opcode::block_id_) ? op : id;
  }
  assert(launch && id && "persist_programs has made them");
  Builder host = Builder::before(fn, launch);
  host.set_location(launch->location);
  launch->operands[0] = host.mul(launch->operand(0), host.i32(splits));
  launch->set("cluster", splits);

  Builder builder = Builder::after(fn, id);
  builder.set_location(id->location);
  Value *block = id->result(), *blocks = builder.i32(splits);
  Value *cluster = builder.binary(Opcode::div_, block, blocks);
  replace_uses(*fn.body, block, cluster);
  cluster->op->operands[0] = block;
  return builder.binary(Opcode::rem_, block, blocks);
}

} // namespace

void take_part_of_steps(Function &fn, Op *loop, Value *first, Value *count) {
  loop->operands[0] = count;
  Block &body = *loop->blocks[0];
  Value *trip = body.arguments[0];
  Builder inside(fn, &body, 0);
  inside.set_location(loop->location);
  Value *step = inside.add(trip, first);
  replace_uses(body, trip, step);
  step->op->operands[0] = trip;
}

void split_sums(Function &fn, const Structure &structure) {
  if (structure.splits == 1)
    return;
  std::optional<ProductLoop> product = find_product_loop(fn).found;
  assert(product && "structures_for has looked");
  Op *loop = product->loop;
  Value *rank = make_clusters(fn, structure.splits);
  Builder builder = Builder::before(fn, loop);
  builder.set_location(loop->location);

  Value *trips = loop->operand(0), *part = nullptr;
  if (trips->op && trips->op->is(Opcode::host_value_))
    trips = trips->op->operand(0);
  if (std::optional<int64_t> count = constant_of(trips)) {
    part = builder.i32((*count + structure.splits - 1) / structure.splits);
  } else {
    Value *rounded = builder.add(trips, builder.i32(structure.splits - 1));
    rounded = builder.binary(Opcode::div_, rounded, builder.i32(structure.splits));
    part = builder.create(Opcode::host_value_, {rounded}, {Type::scalar(Elem::i32)})->result();
  }
  part->name = "part";
  Value *first = builder.mul(rank, part);

  take_part_of_steps(fn, loop, first, part);
  Value *own = loop->results[product->carried];
  Op *sum = Builder::after(fn, loop).create(Opcode::cluster_sum_, {own}, {own->type});
  sum->location = loop->location;
  sum->set("blocks", structure.splits);
  sum->result()->name = own->name;
  replace_uses(*fn.body, own, sum->result());
  sum->operands[0] = own;
}

} // namespace tritonc
