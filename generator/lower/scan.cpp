// Lowers scans. assign_layouts keeps the axis within a warp, and each index bit is a register bit
// or a lane bit.
//
// The scan takes the bits of the index along the axis one after another, from the lowest. An
// element whose bit is set combines with the last element of the half before it. So the order is a
// balanced tree, for every layout:
//
//     a, b, c, d  =>  a, ab, c, cd  =>  a, ab, (ab)c, (ab)(cd)
//
// Tested by tests/unit/lower/scan_test.cpp.

#include "lower/lowering.h"
#include "lower/shuffle.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// The bit of `bases` that has the image `basis`; nullopt: no bit has it.
std::optional<uint32_t> bit_of(const std::vector<FlatIndex> &bases, FlatIndex basis) {
  auto found = std::find(bases.begin(), bases.end(), basis);
  if (found == bases.end())
    return std::nullopt;
  return 1u << (found - bases.begin());
}

} // namespace

void Lowering::lower_scan(const Op &op) {
  const LinearLayout &layout = *op.operand(0)->type.layout;
  size_t axis = size_t(op.get(attr::axis_));
  Opcode kind = *combining_op(op.get(attr::op_));
  Registers values = registers(op.operand(0));
  FlatIndex first = FlatIndex(1) << axis_shift(layout.shape, int(axis));
  uint32_t lower_registers = 0, lower_lanes = 0; // bits of lower index bits along the axis
  for (FlatIndex extent = FlatIndex(layout.shape[axis]), bit = 1; bit < extent; bit *= 2) {
    std::optional<uint32_t> in_register = bit_of(layout.reg, bit * first);
    uint32_t in_lane = in_register ? 0 : *bit_of(layout.lane, bit * first);
    std::map<uint32_t, llvm::Value *> halves; // key: register with the half's last element
    auto half_before = [&](uint32_t r) {
      uint32_t last = (r & ~in_register.value_or(0)) | lower_registers;
      auto [known, is_new] = halves.emplace(last, values[last]);
      if (is_new && (lower_lanes || in_lane)) {
        llvm::Value *from = builder_.CreateAnd(lane(), builder_.getInt32(~in_lane));
        from = builder_.CreateOr(from, builder_.getInt32(lower_lanes));
        known->second = from_lane(builder_, TargetOp::shfl_idx, values[last], from);
      }
      return known->second;
    };
    llvm::Value *is_behind =
        in_lane ? builder_.CreateICmpNE(builder_.CreateAnd(lane(), in_lane), builder_.getInt32(0))
                : nullptr;
    Registers next = values;
    for (uint32_t r = 0; r < values.size(); r++) {
      if (in_register && !(r & *in_register))
        continue;
      llvm::Value *with_half = combined(builder_, kind, half_before(r), values[r]);
      next[r] = is_behind ? builder_.CreateSelect(is_behind, with_half, values[r]) : with_half;
    }
    values = std::move(next);
    lower_registers |= in_register.value_or(0);
    lower_lanes |= in_lane;
  }
  define(op.result(), std::move(values));
}

} // namespace tritonc
