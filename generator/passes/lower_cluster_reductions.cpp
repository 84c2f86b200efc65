// lower_cluster_reductions: lowers cluster_reduce to accesses to the cluster's shared memory.
//
//     %y = cluster_reduce %x {blocks = 4} : f32[128,128] #1
//
//  =>
//     %s = shared_alloc : shared<f32>[1,128,128]
//     barrier
//     shared_store %x, %s, 0
//     cluster_barrier
//     %y = cluster_load_reduce %s, 0 {blocks = 4} : f32[128,128] #1
//     cluster_barrier
//
// The blocks of a cluster can read each other's shared memory. So split-K in a cluster needs no
// workspace in global memory.
//
// Method:  Each block stores its split-K partial in its own shared memory. Then each thread loads
//          the elements that it holds of the result from all blocks, and adds them. The barriers,
//          in order:
//            1. All threads have read the circular buffer, whose place the new buffer may take.
//            2. All partials are in shared memory.
//            3. No block reads from a block that has ended.
// Needs:   assign_layouts.
// Ensures: no cluster_reduce is left.
// Limits:  a whole partial must fit the shared memory of a block. Without a cluster_reduce nothing
//          happens.
//
// Tested by tests/unit/passes/lower_cluster_reductions/.

#include "passes/lower_cluster_reductions.h"

#include "analysis/layouts.h"
#include "ir/builder.h"

namespace tritonc {

using namespace ir;

namespace {

void lower(Function &fn, Op *op) {
  Builder builder = Builder::before(fn, op);
  builder.set_location(op->location);
  Type result = op->result()->type;
  Shape shape = result.shape;
  LinearLayout layout =
      swizzled_layout(shape, register_axis(*result.layout), bytes_of(result.elem));
  shape.insert(shape.begin(), 1);
  Type type = Type::shared(result.elem, shape).with_layout(std::move(layout));
  Value *buffer = builder.create(Opcode::shared_alloc_, {}, {type})->result();
  buffer->name = "parts";
  Value *zero = builder.i32(0);
  builder.create(Opcode::barrier_, {});
  builder.create(Opcode::shared_store_, {op->operand(0), buffer, zero});
  builder.create(Opcode::cluster_barrier_, {});
  Op *load = builder.create(Opcode::cluster_load_reduce_, {buffer, zero}, {result});
  load->set(attr::blocks_, op->get(attr::blocks_));
  load->result()->name = op->result()->name;
  builder.create(Opcode::cluster_barrier_, {});
  replace_uses(*fn.body, op->result(), load->result());
  erase(op);
}

} // namespace

void lower_cluster_reductions(Function &fn) {
  std::vector<Op *> reductions;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::cluster_reduce_))
      reductions.push_back(&op);
  });
  for (Op *op : reductions)
    lower(fn, op);
}

} // namespace tritonc
