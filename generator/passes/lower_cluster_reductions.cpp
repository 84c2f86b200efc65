// lower_cluster_reductions: lowers cluster_reduce to accesses to the cluster's shared memory.
//
//     %y = cluster_reduce %x {blocks = 4, op = "add", to_all} : f32[1] #1
//
//  =>
//     at the start of the function:
//     %m = mbarriers {arrivals = 1} : shared<i64>[1,1]
//     mbarrier_arrive %m, 0 {bytes = 16}
//     cluster_arrive
//
//     cluster_wait
//     %s = shared_alloc : shared<f32>[4,1]
//     cluster_send %x, %s, rank, %m, 0 {blocks = 4}
//     mbarrier_wait %m, 0, 0
//     %y = cluster_receive %s, 0 {blocks = 4, op = "add"} : f32[1] #1
//
//
//     %y = cluster_reduce %x {blocks = 4, op = "add"} : f32[128,128] #1
//
//  =>
//     %s = shared_alloc : shared<f32>[1,128,128]
//     barrier
//     shared_store %x, %s, 0
//     cluster_barrier
//     %y = cluster_load_reduce %s, 0 {blocks = 4, op = "add"} : f32[128,128] #1
//     cluster_barrier
//
// The blocks of a cluster can access each other's shared memory. So they need no workspace in global
// memory.
//
// Method:  {to_all}: each block sends its part to all blocks, and waits on an mbarrier for the bytes
//          of all parts. So the blocks wait for each other once: a barrier of the cluster costs a fence
//          of all memory, and a second barrier would have to tell when the parts have been read.
//          Consecutive reductions have a buffer each, and share an mbarrier. Before the first one all
//          blocks must have started. They arrive at the start of the function, so this wait is short.
//
//          Otherwise each block stores its part in its own shared memory. Then each thread loads the
//          elements that it holds of the result from all blocks, and combines them: a block reads a
//          part of the tile only. The barriers, in order:
//            1. All threads have read the circular buffer, whose place the new buffer may take.
//            2. All parts are in shared memory.
//            3. No block reads from a block that has ended, or that uses the place again.
// Needs:   assign_layouts. A cluster_reduce with {to_all} is in the function's body, outside of loops.
// Ensures: no cluster_reduce is left.
// Limits:  the parts of all reductions with {to_all}, and of consecutive others, must fit the shared
//          memory of a block. Without a cluster_reduce nothing happens.
//
// Tested by tests/unit/passes/lower_cluster_reductions/.

#include "passes/lower_cluster_reductions.h"

#include "analysis/layouts.h"
#include "ir/builder.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

using Reductions = std::vector<Op *>; // consecutive

bool is_to_all(const Op &op) { return op.has(attr::to_all_); }

Value *buffer_for(Builder &builder, const Type &result, int64_t stages) {
  LinearLayout layout =
      swizzled_layout(result.shape, register_axis(*result.layout), bytes_of(result.elem));
  Shape shape = result.shape;
  shape.insert(shape.begin(), stages);
  Type type = Type::shared(result.elem, shape).with_layout(std::move(layout));
  Value *buffer = builder.create(Opcode::shared_alloc_, {}, {type})->result();
  buffer->name = "parts";
  return buffer;
}

void replace(Function &fn, Op &reduction, Op &load) {
  load.copy(attr::blocks_, reduction);
  load.copy(attr::op_, reduction);
  load.result()->name = reduction.result()->name;
  replace_uses(*fn.body, reduction.result(), load.result());
}

// Lets threads load the parts that they need from all blocks.
void load_parts(Function &fn, const Reductions &reductions) {
  Builder builder = Builder::before(fn, reductions[0]);
  builder.set_location(reductions[0]->location);
  std::vector<Value *> buffers;
  for (const Op *op : reductions)
    buffers.push_back(buffer_for(builder, op->result()->type, 1));
  Value *zero = builder.i32(0);
  builder.create(Opcode::barrier_, {});
  for (size_t i = 0; i < reductions.size(); i++)
    builder.create(Opcode::shared_store_, {reductions[i]->operand(0), buffers[i], zero});
  builder.create(Opcode::cluster_barrier_, {});
  for (size_t i = 0; i < reductions.size(); i++)
    replace(fn, *reductions[i],
            *builder.create(Opcode::cluster_load_reduce_, {buffers[i], zero},
                            {reductions[i]->result()->type}));
  builder.create(Opcode::cluster_barrier_, {});
  for (Op *op : reductions)
    erase(op);
}

// Lets the blocks send their parts to all.
class Exchanges {
public:
  Exchanges(Function &fn, const std::vector<Reductions> &all) : fn_(fn) {
    prepare(all);
    Builder builder = Builder::before(fn, all[0][0]);
    builder.set_location(all[0][0]->location);
    builder.create(Opcode::cluster_wait_, {});
    for (size_t i = 0; i < all.size(); i++)
      exchange(all[i], int64_t(i));
  }

private:
  Function &fn_;
  Value *mbarriers_ = nullptr, *rank_ = nullptr;

  // Bytes that a block receives.
  static int64_t bytes_of_parts(const Reductions &reductions) {
    int64_t bytes = 0;
    for (const Op *op : reductions) {
      const Type &type = op->result()->type;
      bytes += op->get(attr::blocks_) * type.elements() * bytes_of(type.elem);
    }
    return bytes;
  }

  void prepare(const std::vector<Reductions> &all) {
    const auto &ops = fn_.body->ops;
    Op *launch = *std::find_if(ops.begin(), ops.end(),
                               [](const Op *op) { return op->is(Opcode::launch_blocks_); });
    Builder builder = Builder::after(fn_, launch);
    builder.set_location(launch->location);
    Op *made =
        builder.create(Opcode::mbarriers_, {}, {Type::shared(Elem::i64, {int64_t(all.size()), 1})});
    made->set(attr::arrivals_, 1);
    mbarriers_ = made->result();
    for (size_t i = 0; i < all.size(); i++) {
      Value *stage = builder.i32(int64_t(i));
      builder.create(Opcode::mbarrier_arrive_, {mbarriers_, stage})
          ->set(attr::bytes_, bytes_of_parts(all[i]));
    }
    builder.create(Opcode::cluster_arrive_, {});
    Op *id = builder.create(Opcode::block_id_, {}, {Type::scalar(Elem::i32)});
    id->set(attr::axis_, 0);
    Value *blocks = builder.i32(all[0][0]->get(attr::blocks_));
    rank_ = builder.binary(Opcode::urem_, id->result(), blocks);
  }

  void exchange(const Reductions &reductions, int64_t number) {
    Builder builder = Builder::before(fn_, reductions[0]);
    builder.set_location(reductions[0]->location);
    Value *stage = builder.i32(number), *zero = builder.i32(0);
    std::vector<Value *> buffers;
    for (Op *op : reductions) {
      const int64_t blocks = op->get(attr::blocks_);
      buffers.push_back(buffer_for(builder, op->result()->type, blocks));
      builder
          .create(Opcode::cluster_send_, {op->operand(0), buffers.back(), rank_, mbarriers_, stage})
          ->set(attr::blocks_, blocks);
    }
    builder.create(Opcode::mbarrier_wait_, {mbarriers_, stage, zero});
    for (size_t i = 0; i < reductions.size(); i++)
      replace(fn_, *reductions[i],
              *builder.create(Opcode::cluster_receive_, {buffers[i], zero},
                              {reductions[i]->result()->type}));
    for (Op *op : reductions)
      erase(op);
  }
};

// Finds the reductions of a block of operations. Consecutive ones are together.
void find(const Block &block, bool to_all, std::vector<Reductions> &found) {
  bool is_next = false;
  for (Op *op : block.ops) {
    for (const Block *inner : op->blocks)
      find(*inner, to_all, found);
    const bool is_wanted = op->is(Opcode::cluster_reduce_) && is_to_all(*op) == to_all;
    if (is_wanted && is_next)
      found.back().push_back(op);
    else if (is_wanted)
      found.push_back({op});
    is_next = is_wanted;
  }
}

} // namespace

void lower_cluster_reductions(Function &fn) {
  std::vector<Reductions> to_all, others;
  find(*fn.body, true, to_all);
  find(*fn.body, false, others);
  if (!to_all.empty())
    Exchanges(fn, to_all);
  for (const Reductions &reductions : others)
    load_parts(fn, reductions);
}

} // namespace tritonc
