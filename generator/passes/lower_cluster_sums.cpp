// lower_cluster_sums: let the blocks of a cluster add what they have, through shared memory.
//
//     %y = cluster_sum %x {blocks = 4} : f32[128,128] #1
//
//  =>
//     %s = shared_alloc : shared<f32>[1,128,128]
//     barrier
//     shared_store %x, %s, 0
//     cluster_barrier
//     %y = cluster_load %s, 0 {blocks = 4} : f32[128,128] #1
//     cluster_barrier
//
// Each block leaves its part in its own shared memory, and fetches from all of them what its
// threads have of the result. The barriers, in turn: nobody reads the ring any more, in whose place
// the buffer may be; every part is there; nobody reads a block's memory when it ends.
//
// Needs:   assign_layouts.
// Ensures: no cluster_sum is left.
//
// Tested by tests/passes/lower_cluster_sums_test.cpp.

#include "passes/lower_cluster_sums.h"

#include "analysis/layouts.h"
#include "ir/builder.h"

namespace tritonc {

using namespace ir;

namespace {

void lower(Function &fn, Op *op) {
  Builder builder = Builder::before(fn, op);
  builder.set_location(op->location);
  Type result = op->result()->type;
  Shape slot = result.shape;
  LinearLayout layout = swizzled_layout(slot, register_axis(*result.layout), bytes_of(result.elem));
  slot.insert(slot.begin(), 1);
  Type type = Type::shared(result.elem, slot).with_layout(std::move(layout));
  Value *buffer = builder.create(Opcode::shared_alloc_, {}, {type})->result();
  buffer->name = "parts";
  Value *zero = builder.i32(0);
  builder.create(Opcode::barrier_, {});
  builder.create(Opcode::shared_store_, {op->operand(0), buffer, zero});
  builder.create(Opcode::cluster_barrier_, {});
  Op *load = builder.create(Opcode::cluster_load_, {buffer, zero}, {result});
  load->set("blocks", op->integer("blocks"));
  load->result()->name = op->result()->name;
  builder.create(Opcode::cluster_barrier_, {});
  replace_uses(*fn.body, op->result(), load->result());
  erase(op);
}

} // namespace

void lower_cluster_sums(Function &fn) {
  std::vector<Op *> sums;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::cluster_sum_))
      sums.push_back(&op);
  });
  for (Op *op : sums)
    lower(fn, op);
}

} // namespace tritonc
