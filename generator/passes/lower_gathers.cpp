// lower_gathers: lowers gather to a store to and a gather from shared memory.
//
//     %y = gather %x, %i {axis = 1}     =>    %s = shared_alloc : shared<f32>[1,8,64]
//                                             shared_store %x, %s, %zero
//                                             %y = shared_gather %s, %zero, %i {axis = 1}
//
// A thread needs elements that other threads hold, at indices that only it knows.
//
// Method:  Stores the tile in row-major order. Then elements along the axis have the same stride
//          everywhere, so an address takes one multiplication. i1 is stored as i8, a pointer as
//          i64.
// Needs:   assign_layouts.
// Ensures: no gather is left.
// Limits:  a gather within one warp goes through shared memory, too. The layout does not avoid bank
//          conflicts.
//
// Tested by tests/unit/passes/lower_gathers/.

#include "passes/lower_gathers.h"

#include "analysis/layouts.h"
#include "ir/builder.h"
#include "passes/shared_roundtrip.h"

namespace tritonc {

using namespace ir;

namespace {

void lower(Function &fn, Op *op) {
  Builder builder = Builder::before(fn, op);
  builder.set_location(op->location);
  const Type result = op->result()->type;
  Value *value = as_stored(builder, op->operand(0));
  Shape shape = value->type.shape;
  auto layout = row_major_layout(shape);
  shape.insert(shape.begin(), 1);
  Type type = Type::shared(value->type.elem, shape).with_layout(std::move(layout));
  Value *buffer = builder.create(Opcode::shared_alloc_, {}, {type})->result();
  builder.create(Opcode::shared_store_, {value, buffer, builder.i32(0)});
  Type found = Type::tile(value->type.elem, result.shape).with_layout(result.layout);
  Op *gather =
      builder.create(Opcode::shared_gather_, {buffer, builder.i32(0), op->operand(1)}, {found});
  gather->set(attr::axis_, op->get(attr::axis_));
  replace_uses(*fn.body, op->result(), as_loaded(builder, gather->result(), result));
  erase(op);
}

} // namespace

void lower_gathers(Function &fn) {
  std::vector<Op *> gathers;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::gather_))
      gathers.push_back(&op);
  });
  for (Op *op : gathers)
    lower(fn, op);
}

} // namespace tritonc
