// lower_layout_conversions: lowers convert_layout to a store to and a load from shared memory.
//
//     %y = convert_layout %x : f16[64,64] #1     =>    %s = shared_alloc : shared<f16>[1,64,64]
//                                                      shared_store %x, %s, %zero
//                                                      %y = shared_load %s, %zero : f16[64,64] #1
//
// Shared memory brings any element to any thread, so one lowering does every conversion.
//
// Method:  Swizzles the buffer like an operand of a dot, against bank conflicts. The buffer is
//          contiguous along the axis along which the reader wants vectors. i1 is stored as i8, a
//          pointer as i64.
// Needs:   assign_layouts.
// Ensures: no convert_layout is left.
// Limits:  conversions that shuffles within a warp could do go through shared memory, too.
//
// Tested by tests/unit/passes/lower_layout_conversions/.

#include "passes/lower_layout_conversions.h"

#include "analysis/layouts.h"
#include "ir/builder.h"
#include "passes/shared_roundtrip.h"

#include <algorithm>
#include <numeric>

namespace tritonc {

using namespace ir;

namespace {

void lower(Function &fn, Op *op, const Users &users) {
  Builder builder = Builder::before(fn, op);
  builder.set_location(op->location);
  Type result = op->result()->type;
  Value *value = as_stored(builder, op->operand(0));
  Type moved = Type::tile(value->type.elem, result.shape).with_layout(result.layout);

  Shape shape = result.shape;
  LinearLayout layout = swizzled_layout(shape, register_axis(*result.layout), bytes_of(moved.elem));
  std::vector<int64_t> identity(shape.size());
  std::iota(identity.begin(), identity.end(), 0);
  shape.insert(shape.begin(), 1);
  Type type = Type::shared(moved.elem, shape).with_layout(std::move(layout));
  Value *buffer = builder.create(Opcode::shared_alloc_, {}, {type})->result();
  builder.create(Opcode::shared_store_, {value, buffer, builder.i32(0)});
  Op *load = builder.create(Opcode::shared_load_, {buffer, builder.i32(0)}, {moved});
  load->set(attr::origin_, std::vector<int64_t>(identity.size(), 0));
  load->set(attr::perm_, std::move(identity));

  replace_uses(users.of(op->result()), op->result(), as_loaded(builder, load->result(), result));
  erase(op);
}

} // namespace

void lower_layout_conversions(Function &fn) {
  std::vector<Op *> conversions;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::convert_layout_))
      conversions.push_back(&op);
  });
  Users users(*fn.body);
  for (Op *op : conversions)
    lower(fn, op, users);
}

} // namespace tritonc
