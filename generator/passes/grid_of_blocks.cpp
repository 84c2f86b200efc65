// Launches blocks that run several programs each. See grid_of_blocks.h.
//
// Tested by tests/unit/passes/coarsen_programs/ and batch_programs/.

#include "passes/grid_of_blocks.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

GridOfBlocks launch_grid_of_blocks(Function &fn, const std::vector<int64_t> &times,
                                   const std::vector<int64_t> &division) {
  Builder builder(fn, fn.body, size_t(0));
  builder.set_location(fn.location);
  GridOfBlocks blocks;
  std::vector<Value *> counts;
  for (int axis = 0; axis < 3; axis++) {
    Value *programs = builder.num_programs(axis);
    blocks.programs[axis] =
        builder.create(Opcode::host_value_, {programs}, {programs->type})->result();
    Value *parts = programs;
    if (!division.empty() && division[size_t(axis)] > 1)
      parts = builder.mul(parts, builder.i32(division[size_t(axis)]));
    Value *rounded = builder.add(parts, builder.i32(times[size_t(axis)] - 1));
    counts.push_back(builder.binary(Opcode::div_, rounded, builder.i32(times[size_t(axis)])));
    blocks.ids[axis] = make_block_id(builder, axis);
  }
  Op *launch = builder.create(Opcode::launch_blocks_, counts);

  // From here on only the host knows the grid of programs: the operations up to the launch.
  std::vector<Op *> gone;
  bool is_ours = true;
  for_each_op(*fn.body, [&](Op &op) {
    for (Value *&operand : op.operands) {
      const Op *made = operand->op;
      if (is_ours || !made)
        continue;
      if (made->is(Opcode::program_id_))
        operand = blocks.ids[made->get(attr::axis_)];
      else if (made->is(Opcode::num_programs_))
        operand = blocks.programs[made->get(attr::axis_)];
    }
    if (!is_ours && (op.is(Opcode::program_id_) || op.is(Opcode::num_programs_)))
      gone.push_back(&op);
    is_ours &= &op != launch;
  });
  for (Op *op : gone)
    erase(op);
  return blocks;
}

Value *make_block_id(Builder &builder, int64_t axis) {
  Op *id = builder.create(Opcode::block_id_, {}, {Type::scalar(Elem::i32)});
  id->set(attr::axis_, axis);
  return id->result();
}

Op *launch_of(Function &fn) {
  auto found = std::find_if(fn.body->ops.begin(), fn.body->ops.end(),
                            [](const Op *op) { return op->is(Opcode::launch_blocks_); });
  return found == fn.body->ops.end() ? nullptr : *found;
}

} // namespace tritonc
