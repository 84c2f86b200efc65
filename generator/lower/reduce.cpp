// Lowering: reductions. The layout of the operand keeps the reduced axis within a warp
// (assign_layouts), so a thread combines its own registers and then lanes exchange theirs.

#include "lower/lowering.h"

namespace tritonc {

using namespace ir;

namespace {

llvm::Value *combine(llvm::IRBuilder<> &builder, Opcode op, llvm::Value *a, llvm::Value *b) {
  bool fp = a->getType()->isFloatingPointTy();
  switch (op) {
  case Opcode::add_:
    return fp ? builder.CreateFAdd(a, b) : builder.CreateAdd(a, b);
  case Opcode::mul_:
    return fp ? builder.CreateFMul(a, b) : builder.CreateMul(a, b);
  case Opcode::xor_:
    return builder.CreateXor(a, b);
  default:
    break;
  }
  if (a == b) // the others change nothing then
    return a;
  switch (op) {
  case Opcode::min_:
    return fp ? builder.CreateMinNum(a, b)
              : builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
  case Opcode::max_:
    return fp ? builder.CreateMaxNum(a, b)
              : builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
  case Opcode::umin_:
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, b);
  case Opcode::umax_:
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::umax, a, b);
  case Opcode::and_:
    return builder.CreateAnd(a, b);
  case Opcode::or_:
    return builder.CreateOr(a, b);
  default:
    llvm_unreachable("nothing else combines");
  }
}

// `value` of the lane whose number differs by `mask`; 32 bits at a time. A constant is the same in
// every lane. (ptxas knows that too, but only late, and then subtracts from it the wrong way round:
// up to 13.5, `max(shfl(4) - x, 0)` is computed as `max(x - 4, 0)` for sm_90.)
llvm::Value *from_lane(llvm::IRBuilder<> &builder, llvm::Value *value, uint32_t mask) {
  if (llvm::isa<llvm::Constant>(value))
    return value;
  llvm::Type *type = value->getType();
  unsigned bits = type->getScalarSizeInBits();
  llvm::Value *word = builder.CreateBitCast(value, builder.getIntNTy(bits));
  auto exchange = [&](llvm::Value *w) {
    return call_target_op(builder, TargetOp::shfl_bfly, {w, builder.getInt32(mask)});
  };
  if (bits == 64) {
    llvm::Value *low = exchange(builder.CreateTrunc(word, builder.getInt32Ty()));
    llvm::Value *high =
        exchange(builder.CreateTrunc(builder.CreateLShr(word, 32), builder.getInt32Ty()));
    high = builder.CreateShl(builder.CreateZExt(high, builder.getInt64Ty()), 32);
    word = builder.CreateOr(builder.CreateZExt(low, builder.getInt64Ty()), high);
  } else {
    word = exchange(builder.CreateZExt(word, builder.getInt32Ty()));
    word = builder.CreateTrunc(word, builder.getIntNTy(bits));
  }
  return builder.CreateBitCast(word, type);
}

} // namespace

void Lowering::lower_reduce(const Op &op) {
  const Value *operand = op.operand(0);
  const LinearLayout &layout = *operand->type.layout;
  size_t axis = size_t(op.integer("axis"));
  Opcode kind = *combining_op(op.text("op"));
  auto without_axis = [&](FlatIndex index) {
    std::vector<int64_t> coordinates = unflatten(layout.shape, index);
    coordinates.erase(coordinates.begin() + axis);
    return flatten(op.result()->type.shape, coordinates);
  };

  std::map<FlatIndex, llvm::Value *> sums;
  for (int r = 0; r < layout.registers(); r++) {
    llvm::Value *&sum = sums[without_axis(layout.index(uint32_t(r), 0, 0))];
    llvm::Value *value = registers(operand)[size_t(r)];
    sum = sum ? combine(builder_, kind, sum, value) : value;
  }
  for (size_t bit = 0; bit < layout.lane.size(); bit++)
    if (unflatten(layout.shape, layout.lane[bit])[axis])
      for (auto &[index, sum] : sums)
        sum = combine(builder_, kind, sum, from_lane(builder_, sum, 1u << bit));

  if (!op.result()->type.is_tile())
    return define(op.result(), {sums.begin()->second});
  Registers result;
  const LinearLayout &kept = *op.result()->type.layout;
  for (int r = 0; r < kept.registers(); r++)
    result.push_back(sums.at(kept.index(uint32_t(r), 0, 0)));
  define(op.result(), std::move(result));
}

} // namespace tritonc
