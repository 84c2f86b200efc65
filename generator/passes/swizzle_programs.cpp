// swizzle_programs: gives blocks that run at the same time programs that load the same operands.
//
//     %x = program_id {axis = 0}              %i = program_id {axis = 0}
//     %y = program_id {axis = 1}              %j = program_id {axis = 1}
//     ... row %x and column %y of tiles  =>   %number = %i + %j * num_programs {axis = 0}
//                                             %x, %y = place of %number
//                                             ... row %x and column %y of tiles
//
// The GPU starts blocks in the order of axis 0. So blocks that run at the same time compute whole
// columns of output tiles, and load all rows of A. A square of output tiles needs the fewest rows
// and columns. One block loads them, and the others find them in the L2 cache.
//
// Method:  The programs of a group of 16 along axis 0 come before those of the next group. In a
//          group, axis 0 runs fastest: 256 blocks at a time compute 16 x 16 output tiles. If axis 0
//          has at most 16 programs, the order does not change. Any order is correct, because
//          programs are independent of each other.
// Needs:   no program depends on the block that runs it.
// Ensures: one block runs each program of the grid.
// Limits:  nothing happens unless programs along axis 0 share an operand of dots, and programs along
//          axis 1 share another one. Nor in warp-specialized matmuls, where make_persistent uses this
//          order, nor in the multistage wgmma schedule of a matmul, whose blocks all run at the same time.
//
// Tested by tests/unit/passes/swizzle_programs/ and swizzle_programs_test.cpp.

#include "passes/swizzle_programs.h"

#include "analysis/grid_axes.h"
#include "analysis/matmul_loop.h"
#include "analysis/operand_loads.h"

#include <algorithm>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t group = 16;

// For values that are not negative.
Value *div(Builder &builder, Value *a, Value *b) { return builder.binary(Opcode::udiv_, a, b); }
Value *rem(Builder &builder, Value *a, Value *b) { return builder.binary(Opcode::urem_, a, b); }

// The axes of the grid that a loaded tile depends on.
std::set<int64_t> axes_of(const Op &load) {
  std::set<int64_t> axes;
  // The operands of a load are its view and its mask, those of a tma_load the map and the place.
  const size_t end = load.is(Opcode::load_) ? 1 : load.operands.size();
  for (size_t i = 0; i < end; i++)
    axes.merge(grid_axes_of(load.operand(i)));
  return axes;
}

// Whether programs along each of the axes 0 and 1 load the same tiles of an operand.
bool shares_operands(Function &fn) {
  bool shared[2] = {};
  for (const OperandLoad &operand : operand_loads(fn)) {
    const std::set<int64_t> axes = axes_of(*operand.load);
    for (int64_t axis : {0, 1})
      shared[axis] |= !axes.contains(axis) && axes.contains(1 - axis);
  }
  return shared[0] && shared[1];
}

bool is_index(const Op &op) { return op.is(Opcode::program_id_) || op.is(Opcode::block_id_); }

} // namespace

std::array<Value *, 2> place_in_groups(Builder &builder, Value *number, Value *rows,
                                       Value *columns) {
  Value *in_group = builder.mul(columns, builder.i32(group));
  Value *rows_of_group = builder.i32(group);
  Value *first = builder.mul(div(builder, number, in_group), rows_of_group);
  Value *left = builder.sub(rows, first);
  Value *width = builder.binary(Opcode::min_, left, builder.i32(group));
  Value *inside = rem(builder, number, in_group);
  return {builder.add(first, rem(builder, inside, width)), div(builder, inside, width)};
}

void swizzle_programs(Function &fn, const Schedule &schedule) {
  const bool has_own_order =
      schedule.is_warp_specialized() || schedule.kind == Schedule::Kind::multistage_wgmma;
  if ((has_own_order && find_matmul_loop(fn).found) || !shares_operands(fn))
    return;
  std::vector<Op *> indices; // along axes 0 and 1
  for_each_op(*fn.body, [&](Op &op) {
    if (is_index(op) && op.get(attr::axis_) <= 1)
      indices.push_back(&op);
  });

  // Where programs are coarsened, coarsened programs are swizzled.
  bool coarsened = indices[0]->is(Opcode::block_id_);
  Builder builder(fn, fn.body, size_t(0));
  builder.set_location(fn.location);
  Value *at[2], *sizes[2];
  for (int axis : {0, 1}) {
    Type i32 = Type::scalar(Elem::i32);
    auto make = [&](Opcode code) {
      Op *op = builder.create(code, {}, {i32});
      op->set(attr::axis_, int64_t(axis));
      return op->result();
    };
    at[axis] = make(coarsened ? Opcode::block_id_ : Opcode::program_id_);
    sizes[axis] = make(coarsened ? Opcode::num_blocks_ : Opcode::num_programs_);
  }
  Value *number = builder.add(at[0], builder.mul(at[1], sizes[0]));
  std::array<Value *, 2> place = place_in_groups(builder, number, sizes[0], sizes[1]);
  for (Op *index : indices) {
    replace_uses(*fn.body, index->result(), place[size_t(index->get(attr::axis_))]);
    erase(index);
  }
}

} // namespace tritonc
