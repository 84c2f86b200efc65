// Lowers reductions. assign_layouts keeps the reduced axis within a warp. So each thread combines
// its own registers, then lanes exchange values.
//
// Tested by tests/unit/lower/reduce_test.cpp.

#include "lower/lowering.h"
#include "lower/shuffle.h"

namespace tritonc {

using namespace ir;

void Lowering::lower_reduce(const Op &op) {
  const Value *operand = op.operand(0);
  const LinearLayout &layout = *operand->type.layout;
  size_t axis = size_t(op.get(attr::axis_));
  Opcode kind = *combining_op(op.get(attr::op_));
  auto without_axis = [&](FlatIndex index) {
    std::vector<int64_t> coordinates = unflatten(layout.shape, index);
    coordinates.erase(coordinates.begin() + axis);
    return flatten(op.result()->type.shape, coordinates);
  };

  std::map<FlatIndex, llvm::Value *> sums;
  for (int r = 0; r < layout.registers(); r++) {
    llvm::Value *&sum = sums[without_axis(layout.index(uint32_t(r), 0, 0))];
    llvm::Value *value = registers(operand)[size_t(r)];
    sum = sum ? combined(builder_, kind, sum, value) : value;
  }
  for (size_t bit = 0; bit < layout.lane.size(); bit++)
    if (unflatten(layout.shape, layout.lane[bit])[axis])
      for (auto &[index, sum] : sums)
        sum = combined(builder_, kind, sum,
                       from_lane(builder_, TargetOp::shfl_bfly, sum, builder_.getInt32(1u << bit)));

  if (!op.result()->type.is_tile())
    return define(op.result(), {sums.begin()->second});
  Registers result;
  const LinearLayout &kept = *op.result()->type.layout;
  for (int r = 0; r < kept.registers(); r++)
    result.push_back(sums.at(kept.index(uint32_t(r), 0, 0)));
  define(op.result(), std::move(result));
}

} // namespace tritonc
