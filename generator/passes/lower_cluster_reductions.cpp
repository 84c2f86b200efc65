// lower_cluster_reductions: lowers cluster_reduce to accesses to the cluster's shared memory.
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
// The blocks of a cluster can read each other's shared memory. So they need no workspace in global
// memory.
//
// Method:  Each block stores its part in its own shared memory. Then each thread loads the elements
//          that it holds of the result from all blocks, and combines them. Consecutive reductions
//          have a buffer each, and share the barriers. The barriers, in order:
//            1. All threads have read the circular buffer, whose place the new buffer may take.
//            2. All parts are in shared memory.
//            3. No block reads from a block that has ended, or that uses the place again.
// Needs:   assign_layouts.
// Ensures: no cluster_reduce is left.
// Limits:  the parts of consecutive reductions must fit the shared memory of a block. Without a
//          cluster_reduce nothing happens.
//
// Tested by tests/unit/passes/lower_cluster_reductions/.

#include "passes/lower_cluster_reductions.h"

#include "analysis/layouts.h"
#include "ir/builder.h"

namespace tritonc {

using namespace ir;

namespace {

Value *buffer_for(Builder &builder, const Type &result) {
  LinearLayout layout =
      swizzled_layout(result.shape, register_axis(*result.layout), bytes_of(result.elem));
  Shape shape = result.shape;
  shape.insert(shape.begin(), 1);
  Type type = Type::shared(result.elem, shape).with_layout(std::move(layout));
  Value *buffer = builder.create(Opcode::shared_alloc_, {}, {type})->result();
  buffer->name = "parts";
  return buffer;
}

// Lowers consecutive reductions.
void lower(Function &fn, const std::vector<Op *> &reductions) {
  Builder builder = Builder::before(fn, reductions[0]);
  builder.set_location(reductions[0]->location);
  std::vector<Value *> buffers;
  for (const Op *op : reductions)
    buffers.push_back(buffer_for(builder, op->result()->type));
  Value *zero = builder.i32(0);
  builder.create(Opcode::barrier_, {});
  for (size_t i = 0; i < reductions.size(); i++)
    builder.create(Opcode::shared_store_, {reductions[i]->operand(0), buffers[i], zero});
  builder.create(Opcode::cluster_barrier_, {});
  for (size_t i = 0; i < reductions.size(); i++) {
    Op *op = reductions[i];
    Op *load =
        builder.create(Opcode::cluster_load_reduce_, {buffers[i], zero}, {op->result()->type});
    load->copy(attr::blocks_, *op);
    load->copy(attr::op_, *op);
    load->copy(attr::to_all_, *op);
    load->result()->name = op->result()->name;
    replace_uses(*fn.body, op->result(), load->result());
  }
  builder.create(Opcode::cluster_barrier_, {});
  for (Op *op : reductions)
    erase(op);
}

void lower_in(Function &fn, Block &block) {
  const std::vector<Op *> ops = block.ops; // a copy: lower() changes the block
  std::vector<Op *> consecutive;
  for (Op *op : ops) {
    for (Block *inner : op->blocks)
      lower_in(fn, *inner);
    if (op->is(Opcode::cluster_reduce_)) {
      consecutive.push_back(op);
    } else if (!consecutive.empty()) {
      lower(fn, consecutive);
      consecutive.clear();
    }
  }
}

} // namespace

void lower_cluster_reductions(Function &fn) { lower_in(fn, *fn.body); }

} // namespace tritonc
