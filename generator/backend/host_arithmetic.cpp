// host_arithmetic: expands arithmetic that the host CPU has no instruction for, or that would trap.
//
//     %s = fadd bfloat %x, %y
//  =>
//     %a = ... the bits of %x and 16 zeros, as a float; %b likewise
//     %f = fadd float %a, %b
//     %s = ... the bits of %f + 0x7fff + bit 16 of %f, the upper half of them
//
// Why. Host code must link into any C++ program, and may call only <math.h> of the C library. LLVM
// would call functions such as `__truncsfbf2`, which libgcc has only since GCC 13.
//
// Method.
// - bfloat: each operation runs on floats, and the result is then rounded. For a single operation
//   this is the correctly rounded result. fneg, fabs and copysign change the bits directly, so that
//   a NaN keeps its payload. Between operations a bfloat is an i16.
// - Conversion to bfloat and half from wider types takes two steps. The first step rounds to odd:
//   toward zero, with the last bit set if the result is inexact. Then the second step rounds as if
//   it had the exact value.
// - fma of bfloat and half: the product is exact in double. The sum also rounds to odd.
// - Integer division by 0, and INT_MIN / -1, divides by 1 instead. The language leaves the result
//   undefined and a GPU returns some value, but a host program would end with a signal.
// - Floating point to integer saturates, and NaN becomes 0, as on a GPU.
// - Atomics on bfloat and half become compare-and-exchange loops.
//
// Limits: the pass does not expand arithmetic on vectors of bfloat or half.
// Tested by tests/unit/backend/host_arithmetic_test.cpp.

#include "backend/host_arithmetic.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/AtomicExpandUtils.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

#include <cassert>

namespace tritonc {
namespace {

bool is_small(llvm::Type *type) {
  return type->getScalarType()->isBFloatTy() || type->getScalarType()->isHalfTy();
}
bool is_bfloat(llvm::Type *type) { return type->getScalarType()->isBFloatTy(); }

class Expander {
public:
  explicit Expander(llvm::Instruction *instruction) : instruction_(instruction), b_(instruction) {}

  /// The value that replaces the instruction; null if the instruction stays.
  llvm::Value *expanded() {
    if (auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(instruction_))
      return expanded_intrinsic(*intrinsic);
    llvm::Type *type = instruction_->getType();
    switch (instruction_->getOpcode()) {
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::FDiv:
    case llvm::Instruction::FRem:
      return is_bfloat(type) ? on_floats() : nullptr;
    case llvm::Instruction::FNeg:
      return is_bfloat(type) ? with_bits(llvm::Instruction::Xor, 0x8000) : nullptr;
    case llvm::Instruction::FCmp:
      return is_bfloat(operand(0)->getType()) ? on_floats() : nullptr;
    case llvm::Instruction::FPExt:
      return is_bfloat(operand(0)->getType()) ? b_.CreateFPExt(widened(operand(0)), type) : nullptr;
    case llvm::Instruction::FPTrunc:
      return truncated();
    case llvm::Instruction::SIToFP:
    case llvm::Instruction::UIToFP:
      return is_small(type) ? from_integer() : nullptr;
    case llvm::Instruction::FPToSI:
      return b_.CreateIntrinsic(type, llvm::Intrinsic::fptosi_sat, {widened(operand(0))});
    case llvm::Instruction::FPToUI:
      return b_.CreateIntrinsic(type, llvm::Intrinsic::fptoui_sat, {widened(operand(0))});
    case llvm::Instruction::SDiv:
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SRem:
    case llvm::Instruction::URem:
      make_divisor_harmless();
      return nullptr;
    default:
      return nullptr;
    }
  }

private:
  llvm::Value *operand(unsigned i) const { return instruction_->getOperand(i); }

  llvm::Value *expanded_intrinsic(llvm::IntrinsicInst &call) {
    llvm::Type *type = call.getType();
    if (call.getIntrinsicID() == llvm::Intrinsic::fma && is_small(type))
      return fused();
    if (call.getIntrinsicID() == llvm::Intrinsic::is_fpclass && is_bfloat(operand(0)->getType()))
      return b_.CreateIntrinsic(type, llvm::Intrinsic::is_fpclass,
                                {widened(operand(0)), operand(1)});
    if (!is_bfloat(type))
      return nullptr;
    switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::fabs:
      return with_bits(llvm::Instruction::And, 0x7fff);
    case llvm::Intrinsic::copysign:
      return with_sign_of(operand(1));
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::exp2:
    case llvm::Intrinsic::log2:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::maxnum:
    case llvm::Intrinsic::minimum:
    case llvm::Intrinsic::maximum:
    case llvm::Intrinsic::minimumnum:
    case llvm::Intrinsic::maximumnum:
    case llvm::Intrinsic::fmuladd:
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::trunc:
    case llvm::Intrinsic::rint: {
      llvm::SmallVector<llvm::Value *> arguments;
      for (llvm::Value *argument : call.args())
        arguments.push_back(widened(argument));
      return narrowed(
          b_.CreateIntrinsic(call.getIntrinsicID(), {arguments[0]->getType()}, arguments, &call));
    }
    default:
      return nullptr;
    }
  }

  // ---- bfloat and float ----

  llvm::Type *like(llvm::Type *shape, llvm::Type *element) {
    return shape->getWithNewType(element);
  }

  // A bfloat becomes a float; other types stay unchanged.
  llvm::Value *widened(llvm::Value *value) {
    llvm::Type *type = value->getType();
    if (!is_bfloat(type))
      return value;
    llvm::Value *bits = b_.CreateBitCast(value, like(type, b_.getInt16Ty()));
    bits = b_.CreateShl(b_.CreateZExt(bits, like(type, b_.getInt32Ty())), 16);
    return b_.CreateBitCast(bits, like(type, b_.getFloatTy()));
  }

  // Float to bfloat, rounded to nearest, ties to even.
  llvm::Value *narrowed(llvm::Value *value) {
    llvm::Type *type = value->getType();
    llvm::Value *bits = b_.CreateBitCast(value, like(type, b_.getInt32Ty()));
    llvm::Value *last = b_.CreateAnd(b_.CreateLShr(bits, 16), 1);
    llvm::Value *sum =
        b_.CreateAdd(bits, b_.CreateAdd(last, llvm::ConstantInt::get(bits->getType(), 0x7fff)));
    llvm::Value *quiet = b_.CreateOr(bits, 0x400000);
    llvm::Value *result = b_.CreateSelect(b_.CreateFCmpUNO(value, value), quiet, sum);
    result = b_.CreateTrunc(b_.CreateLShr(result, 16), like(type, b_.getInt16Ty()));
    return b_.CreateBitCast(result, like(type, b_.getBFloatTy()));
  }

  // The same instruction on floats.
  llvm::Value *on_floats() {
    llvm::Value *x = widened(operand(0));
    llvm::Value *y = widened(operand(1));
    llvm::Value *result;
    if (auto *compare = llvm::dyn_cast<llvm::FCmpInst>(instruction_))
      result = b_.CreateFCmp(compare->getPredicate(), x, y);
    else
      result = b_.CreateBinOp(llvm::cast<llvm::BinaryOperator>(instruction_)->getOpcode(), x, y);
    if (auto *made = llvm::dyn_cast<llvm::Instruction>(result))
      made->copyIRFlags(instruction_);
    return llvm::isa<llvm::FCmpInst>(instruction_) ? result : narrowed(result);
  }

  llvm::Value *with_bits(llvm::Instruction::BinaryOps op, uint64_t mask) {
    llvm::Type *type = operand(0)->getType();
    llvm::Value *bits = b_.CreateBitCast(operand(0), like(type, b_.getInt16Ty()));
    bits = b_.CreateBinOp(op, bits, llvm::ConstantInt::get(bits->getType(), mask));
    return b_.CreateBitCast(bits, type);
  }

  llvm::Value *with_sign_of(llvm::Value *from) {
    llvm::Type *type = operand(0)->getType(), *integer = like(type, b_.getInt16Ty());
    llvm::Value *magnitude = b_.CreateAnd(b_.CreateBitCast(operand(0), integer), 0x7fff);
    llvm::Value *sign = b_.CreateAnd(b_.CreateBitCast(from, integer), 0x8000);
    return b_.CreateBitCast(b_.CreateOr(magnitude, sign), type);
  }

  // ---- round to odd: two rounding steps give the result of one ----

  // Corrects `value`, which is rounded to nearest, to round to odd. `is_exact`: `value` had no
  // rounding error. `too_large`: the rounding went away from zero.
  llvm::Value *to_odd(llvm::Value *value, llvm::Value *is_exact, llvm::Value *too_large) {
    llvm::Type *type = value->getType();
    llvm::Type *integer = like(type, b_.getIntNTy(type->getScalarSizeInBits()));
    llvm::Value *bits = b_.CreateBitCast(value, integer);
    llvm::Value *towards_zero = b_.CreateSub(bits, b_.CreateZExt(too_large, integer));
    llvm::Value *odd = b_.CreateOr(towards_zero, 1);
    return b_.CreateBitCast(b_.CreateSelect(is_exact, bits, odd), type);
  }

  // Double to float, rounded to odd. Infinity and NaN stay unchanged.
  llvm::Value *float_to_odd(llvm::Value *value) {
    llvm::Value *rounded = b_.CreateFPTrunc(value, like(value->getType(), b_.getFloatTy()));
    llvm::Value *back = b_.CreateFPExt(rounded, value->getType());
    llvm::Value *size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
    llvm::Value *size_of_back = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back);
    llvm::Value *too_large = b_.CreateFCmpOGT(size_of_back, size);
    return to_odd(rounded, b_.CreateFCmpUEQ(back, value), too_large);
  }

  // Float or double to the 16-bit type `type`.
  llvm::Value *to_small(llvm::Value *value, llvm::Type *type) {
    if (value->getType()->getScalarType()->isDoubleTy())
      value = float_to_odd(value);
    return is_bfloat(type) ? narrowed(value) : b_.CreateFPTrunc(value, type);
  }

  llvm::Value *truncated() {
    llvm::Type *type = instruction_->getType();
    bool from_double = operand(0)->getType()->getScalarType()->isDoubleTy();
    return is_bfloat(type) || (is_small(type) && from_double) ? to_small(operand(0), type)
                                                              : nullptr;
  }

  // An integer of at most 64 bits. If a double cannot hold it, it first loses its last 11 bits,
  // rounded to odd.
  llvm::Value *from_integer() {
    bool is_signed = instruction_->getOpcode() == llvm::Instruction::SIToFP;
    llvm::Value *integer = operand(0);
    llvm::Type *type = integer->getType(), *real = like(type, b_.getDoubleTy());
    auto converted = [&](llvm::Value *value) {
      return is_signed ? b_.CreateSIToFP(value, real) : b_.CreateUIToFP(value, real);
    };
    llvm::Value *value = converted(integer);
    if (type->getScalarSizeInBits() > 53) {
      llvm::Value *high = is_signed ? b_.CreateAShr(integer, 11) : b_.CreateLShr(integer, 11);
      llvm::Constant *zero = llvm::Constant::getNullValue(type);
      llvm::Value *lost = b_.CreateICmpNE(b_.CreateAnd(integer, 0x7ff), zero);
      llvm::Value *odd = b_.CreateOr(high, b_.CreateZExt(lost, type));
      llvm::Value *large = b_.CreateFMul(converted(odd), llvm::ConstantFP::get(real, 2048));
      llvm::Value *top = b_.CreateAShr(high, 41); // 0 or -1: a double holds `integer`
      llvm::Value *fits = is_signed
                              ? b_.CreateICmpULE(b_.CreateAdd(top, llvm::ConstantInt::get(type, 1)),
                                                 llvm::ConstantInt::get(type, 1))
                              : b_.CreateICmpEQ(top, zero);
      value = b_.CreateSelect(fits, value, large);
    }
    return to_small(value, instruction_->getType());
  }

  // x * y + z. A double holds the rounding error of the sum exactly. Its sign tells on which side
  // of the sum the exact value lies.
  llvm::Value *fused() {
    llvm::Type *type = instruction_->getType(), *real = like(type, b_.getDoubleTy());
    auto as_double = [&](llvm::Value *value) { return b_.CreateFPExt(widened(value), real); };
    llvm::Value *y = as_double(operand(1)), *x = as_double(operand(0));
    llvm::Value *product = b_.CreateFMul(x, y);
    llvm::Value *z = as_double(operand(2));
    llvm::Value *sum = b_.CreateFAdd(product, z);
    llvm::Value *z_part = b_.CreateFSub(sum, product);
    llvm::Value *error_of_z = b_.CreateFSub(z, z_part);
    llvm::Value *error_of_product = b_.CreateFSub(product, b_.CreateFSub(sum, z_part));
    llvm::Value *error = b_.CreateFAdd(error_of_product, error_of_z);
    llvm::Constant *zero = llvm::ConstantFP::get(real, 0);
    // The signs differ: the exact value is closer to zero.
    llvm::Value *too_large = b_.CreateFCmpOLT(b_.CreateFMul(sum, error), zero);
    llvm::Value *is_exact = b_.CreateFCmpUEQ(error, zero); // also true for infinity and NaN
    return to_small(to_odd(sum, is_exact, too_large), type);
  }

  // ---- integers ----

  void make_divisor_harmless() {
    llvm::Value *divisor = operand(1), *dividend = operand(0);
    llvm::Type *type = divisor->getType();
    bool is_signed = instruction_->getOpcode() == llvm::Instruction::SDiv ||
                     instruction_->getOpcode() == llvm::Instruction::SRem;
    llvm::Constant *one = llvm::ConstantInt::get(type, 1);
    if (auto *constant = llvm::dyn_cast<llvm::ConstantInt>(divisor))
      if (!constant->isZero() && !constant->isMinusOne())
        return;
    // A comparison of poison would be poison.
    divisor = b_.CreateFreeze(divisor);
    llvm::Value *harmful = b_.CreateICmpEQ(divisor, llvm::Constant::getNullValue(type));
    if (is_signed) {
      llvm::Value *smallest =
          llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(type->getScalarSizeInBits()));
      dividend = b_.CreateFreeze(dividend);
      llvm::Value *is_smallest = b_.CreateICmpEQ(dividend, smallest);
      llvm::Value *is_minus_one = b_.CreateICmpEQ(divisor, llvm::Constant::getAllOnesValue(type));
      llvm::Value *overflows = b_.CreateAnd(is_minus_one, is_smallest);
      harmful = b_.CreateOr(harmful, overflows);
      instruction_->setOperand(0, dividend);
    }
    instruction_->setOperand(1, b_.CreateSelect(harmful, one, divisor));
    instruction_->dropPoisonGeneratingFlags(); // `exact` held for the old divisor
  }

  llvm::Instruction *instruction_;
  llvm::IRBuilder<> b_;
};

void expand_atomics(llvm::Function &function) {
  llvm::SmallVector<llvm::AtomicRMWInst *> atomics;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
      if (is_small(atomic->getType()))
        atomics.push_back(atomic);
  for (llvm::AtomicRMWInst *atomic : atomics)
    llvm::expandAtomicRMWToCmpXchg(atomic, [](llvm::IRBuilderBase &builder, llvm::Value *address,
                                              llvm::Value *loaded, llvm::Value *wanted,
                                              llvm::Align align, llvm::AtomicOrdering ordering,
                                              llvm::SyncScope::ID scope, llvm::Value *&success,
                                              llvm::Value *&found, llvm::Instruction *) {
      llvm::Type *type = loaded->getType();
      // The first load must be atomic too.
      llvm::Value *first = llvm::cast<llvm::PHINode>(loaded)->getIncomingValue(0);
      llvm::cast<llvm::LoadInst>(first)->setAtomic(llvm::AtomicOrdering::Monotonic, scope);
      llvm::Value *wanted_bits = builder.CreateBitCast(wanted, builder.getInt16Ty());
      llvm::Value *loaded_bits = builder.CreateBitCast(loaded, builder.getInt16Ty());
      auto *exchange = builder.CreateAtomicCmpXchg(
          address, loaded_bits, wanted_bits, align, ordering,
          llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(ordering), scope);
      success = builder.CreateExtractValue(exchange, 1);
      found = builder.CreateBitCast(builder.CreateExtractValue(exchange, 0), type);
    });
}

// After the expansion, code only moves bfloats, as 16-bit values. LLVM would keep them as floats
// between basic blocks, and would call a missing library function to round them to bfloat again.
void move_bfloats_as_integers(llvm::Function &function) {
  llvm::Type *bits = llvm::Type::getInt16Ty(function.getContext());
  for (llvm::Instruction &instruction : llvm::instructions(function)) {
    for (llvm::Use &operand : instruction.operands())
      if (auto *constant = llvm::dyn_cast<llvm::Constant>(operand))
        if (is_bfloat(constant->getType()))
          operand =
              llvm::ConstantExpr::getBitCast(constant, constant->getType()->getWithNewType(bits));
    if (is_bfloat(instruction.getType())) {
      assert(!llvm::isa<llvm::CallInst>(instruction) && "computations are expanded");
      instruction.mutateType(instruction.getType()->getWithNewType(bits));
    }
  }
}

} // namespace

void expand_host_arithmetic(llvm::Function &function) {
  expand_atomics(function);
  llvm::SmallVector<llvm::Instruction *> all;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    all.push_back(&instruction);
  for (llvm::Instruction *instruction : all)
    if (llvm::Value *value = Expander(instruction).expanded()) {
      instruction->replaceAllUsesWith(value);
      instruction->eraseFromParent();
    }
  move_bfloats_as_integers(function);
}

} // namespace tritonc
