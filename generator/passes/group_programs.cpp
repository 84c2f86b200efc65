// group_programs: give blocks that run at one time programs that need the same rows and columns.
//
//     %x = program_id {axis = 0}              %i = program_id {axis = 0}
//     %y = program_id {axis = 1}              %j = program_id {axis = 1}
//     ... row %x and column %y of tiles  =>   %number = %i + %j * num_programs {axis = 0}
//                                             %x, %y = place of %number
//                                             ... row %x and column %y of tiles
//
// The GPU starts blocks in the order of axis 0, so those that run at one time are some whole
// columns of tiles: each needs the rows of A that all of the matrix has. In a square of tiles as
// many blocks need the fewest rows and columns, which they find in the L2 cache when one of them
// has loaded them. So the programs of a group of 16 along axis 0 come before those of the next, and
// in a group axis 0 runs fastest: of 256 blocks at one time, 16 by 16. Programs are independent of
// each other, so any order is right. Where axis 0 has 16 programs or fewer, it is the order that it
// was.
//
// Needs:   no program depends on the block that it runs in.
// Ensures: every program of the grid is still carried out by one block.
// Limits:  products only: of nothing else is it known what neighbours share. persist_programs does
//          the same for blocks that carry out several programs. In the structure for small products
//          blocks all run at one time, so there nothing happens.
//
// Tested by tests/passes/group_programs_test.cpp.

#include "passes/group_programs.h"

#include "analysis/product_loop.h"

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t group = 16;

// Of numbers that are not negative.
Value *div(Builder &builder, Value *a, Value *b) { return builder.binary(Opcode::udiv_, a, b); }
Value *rem(Builder &builder, Value *a, Value *b) { return builder.binary(Opcode::urem_, a, b); }

bool is_index(const Op &op) { return op.is(Opcode::program_id_) || op.is(Opcode::block_id_); }

} // namespace

std::array<Value *, 2> place_in_groups(Builder &builder, Value *number, Value *rows,
                                       Value *columns) {
  Value *in_group = builder.mul(columns, builder.i32(group));
  Value *first = builder.mul(div(builder, number, in_group), builder.i32(group));
  Value *left = builder.sub(rows, first);
  Value *width = builder.binary(Opcode::min_, left, builder.i32(group));
  Value *inside = rem(builder, number, in_group);
  return {builder.add(first, rem(builder, inside, width)), div(builder, inside, width)};
}

void group_programs(Function &fn, const Structure &structure) {
  if (structure.specialized || structure.together || !find_product_loop(fn).found)
    return;
  std::vector<Op *> indices; // along axes 0 and 1
  bool seen[2] = {};
  for_each_op(*fn.body, [&](Op &op) {
    if (!is_index(op) || op.integer("axis") > 1)
      return;
    indices.push_back(&op);
    seen[op.integer("axis")] = true;
  });
  if (!seen[0] || !seen[1])
    return;

  // If programs are bundled, a bundle is what is a program here.
  bool bundled = indices[0]->is(Opcode::block_id_);
  Builder builder(fn, fn.body, size_t(0));
  builder.set_location(fn.location);
  Value *at[2], *sizes[2];
  for (int axis : {0, 1}) {
    Type i32 = Type::scalar(Elem::i32);
    auto make = [&](Opcode code) {
      Op *op = builder.create(code, {}, {i32});
      op->set("axis", int64_t(axis));
      return op->result();
    };
    at[axis] = make(bundled ? Opcode::block_id_ : Opcode::program_id_);
    sizes[axis] = make(bundled ? Opcode::num_blocks_ : Opcode::num_programs_);
  }
  Value *number = builder.add(at[0], builder.mul(at[1], sizes[0]));
  std::array<Value *, 2> place = place_in_groups(builder, number, sizes[0], sizes[1]);
  for (Op *index : indices) {
    replace_uses(*fn.body, index->result(), place[size_t(index->integer("axis"))]);
    erase(index);
  }
}

} // namespace tritonc
