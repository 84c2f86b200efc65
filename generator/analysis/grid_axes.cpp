// Finds the axes of the grid that values depend on. See grid_axes.h.
//
// Tested by tests/unit/passes/lower_to_tma_test.cpp.

#include "analysis/grid_axes.h"

namespace tritonc {

using namespace ir;

std::set<int64_t> grid_axes_of(const Value *value) {
  std::set<const Op *> ops;
  if (value->op)
    add_with_operands(value->op, ops);
  std::set<int64_t> axes;
  for (const Op *op : ops)
    if (op->is(Opcode::program_id_) || op->is(Opcode::block_id_))
      axes.insert(op->get(attr::axis_));
  return axes;
}

std::optional<SharedOperand> find_shared_operand(const MatmulLoop &matmul) {
  std::set<int64_t> axes[2];
  for (int i : {0, 1})
    for (const Value *operand : matmul.operands[i].load->operands)
      axes[i].merge(grid_axes_of(operand));
  auto elements = [&](int i) { return matmul.operands[i].load->result()->type.elements(); };
  std::optional<SharedOperand> largest;
  for (int i : {0, 1})
    for (int64_t axis : {0, 1})
      if (!axes[i].count(axis) && axes[1 - i].count(axis) &&
          (!largest || elements(i) > elements(largest->operand)))
        largest = {i, axis};
  return largest;
}

} // namespace tritonc
