// lower_layout_conversions: lowers convert_layout to a store to and a load from shared memory.
//
//     %y = convert_layout %x : f16[64,64] #1     =>    %s = shared_alloc : shared<f16>[1,64,64]
//                                                      shared_store %x, %s, %zero
//                                                      %y = shared_load %s, %zero : f16[64,64] #1
//
// Shared memory brings any element to any thread, so one lowering does every conversion.
//
// Method:  Chooses between two buffers the one whose accesses take less time: an exchange_layout, for
//          vector accesses of the registers of both layouts, and a swizzled_layout, which matrix
//          instructions can access. i1 is stored as i8, a pointer as i64.
// Needs:   assign_layouts.
// Ensures: no convert_layout is left.
// Limits:  conversions that shuffles within a warp could do go through shared memory, too.
//
// Tested by tests/unit/passes/lower_layout_conversions/.

#include "passes/lower_layout_conversions.h"

#include "analysis/layouts.h"
#include "analysis/shared_access.h"
#include "ir/builder.h"
#include "passes/shared_roundtrip.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tritonc {

using namespace ir;

namespace {

// The time of a shared_load or shared_store. An instruction takes a cycle to issue, and a cycle for
// each 128 bytes of a warp. Bank conflicts multiply the latter.
double time_of(const Op &access, int64_t bytes_of_thread, bool has_matrix_instruction) {
  constexpr double lanes = 32, bytes_per_cycle = 128;
  const SharedAccess each = shared_access(access, has_matrix_instruction);
  const double bytes = each.lanes * int(each.bytes); // of a warp
  return double(bytes_of_thread) * lanes / bytes *
         (1 + std::max(1.0, bytes / bytes_per_cycle) * each.conflicts);
}

void lower(Function &fn, Op *op, const Users &users, const Gpu &gpu) {
  Builder builder = Builder::before(fn, op);
  builder.set_location(op->location);
  Type result = op->result()->type;
  Value *value = as_stored(builder, op->operand(0));
  Type moved = Type::tile(value->type.elem, result.shape).with_layout(result.layout);
  const int bytes = bytes_of(moved.elem);

  Shape stages = result.shape;
  stages.insert(stages.begin(), 1);
  std::vector<int64_t> identity(result.shape.size());
  std::iota(identity.begin(), identity.end(), 0);
  Op *alloc = builder.create(Opcode::shared_alloc_, {}, {Type::shared(moved.elem, stages)});
  Value *buffer = alloc->result();
  Op *store = builder.create(Opcode::shared_store_, {value, buffer, builder.i32(0)});
  Op *load = builder.create(Opcode::shared_load_, {buffer, builder.i32(0)}, {moved});
  load->set(attr::origin_, std::vector<int64_t>(identity.size(), 0));
  load->set(attr::perm_, std::move(identity));

  double best = std::numeric_limits<double>::infinity();
  Type type = buffer->type;
  for (const LinearLayout &layout :
       {swizzled_layout(result.shape, register_axis(*result.layout), bytes),
        exchange_layout(*value->type.layout, *result.layout, bytes)}) {
    buffer->type = buffer->type.with_layout(layout);
    const double time = time_of(*store, value->type.layout->registers() * bytes, gpu.has_stmatrix) +
                        time_of(*load, result.layout->registers() * bytes, gpu.has_ldmatrix);
    if (time < best) {
      best = time;
      type = buffer->type;
    }
  }
  buffer->type = type;

  replace_uses(users.of(op->result()), op->result(), as_loaded(builder, load->result(), result));
  erase(op);
}

} // namespace

void lower_layout_conversions(Function &fn, const Gpu &gpu) {
  std::vector<Op *> conversions;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::convert_layout_))
      conversions.push_back(&op);
  });
  Users users(*fn.body);
  for (Op *op : conversions)
    lower(fn, op, users, gpu);
}

} // namespace tritonc
