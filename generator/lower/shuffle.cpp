// Combines two elements, and reads elements of other lanes. See shuffle.h.
//
// Tested by tests/unit/lower/reduce_test.cpp and tests/unit/lower/scan_test.cpp.

#include "lower/shuffle.h"

namespace tritonc {

using namespace ir;

llvm::Value *combined(llvm::IRBuilder<> &builder, Opcode op, llvm::Value *a, llvm::Value *b) {
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
  if (a == b) // the remaining operations return a if a == b
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

// Shuffles 32 bits at a time. A constant is the same in every lane, so it needs no shuffle. (Up to
// version 13.5, ptxas folds this case wrongly for sm_90: it computes `max(shfl(4) - x, 0)` as
// `max(x - 4, 0)`.)
llvm::Value *from_lane(llvm::IRBuilder<> &builder, TargetOp shuffle, llvm::Value *value,
                       llvm::Value *which) {
  if (llvm::isa<llvm::Constant>(value))
    return value;
  llvm::Type *type = value->getType();
  unsigned bits = type->getScalarSizeInBits();
  llvm::Value *word = builder.CreateBitCast(value, builder.getIntNTy(bits));
  auto exchange = [&](llvm::Value *w) { return call_target_op(builder, shuffle, {w, which}); };
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

} // namespace tritonc
