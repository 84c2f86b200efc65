// prepare_for_ptx: replaces instructions that LLVM's NVPTX back end cannot select, or that ptxas
// miscompiles, with equivalent instructions.
//
//     %l = call afn float @llvm.log2.f32(float %x)
//  =>
//     %l = call float @llvm.nvvm.lg2.approx.f(float %x)
//
//     %e = call afn float @llvm.exp2.f32(float %x)
//  =>
//     %e = call float @llvm.nvvm.ex2.approx.ftz.f32(float %x)
//
//     %n = sub i32 0, %b
//     %m = call i32 @llvm.smin.i32(i32 %a, i32 %n)
//  =>
//     %n = sub i32 0, %b
//     %m = call i32 @llvm.smin.i32(i32 %n, i32 %a)
//
// Why.
// - LLVM 22 has no NVPTX pattern for log2. It has one for exp2, with subnormal results: these cost
//   three more instructions per ex2. The language gives zero instead.
// - On sm_90 and later, ptxas 12.8 to 13.0 fuse `min(min(a, -b), c)` into one VIMNMX3 and drop the
//   negation. The same happens with max. They compile `min(min(-b, a), c)` correctly. ptxas 13.5
//   compiles both correctly.
// - If both operands are negated, the pass compares 64-bit integers, which have no VIMNMX3.
//
// Needs: a module after the optimizer, because the optimizer may swap operands again.
// Tested by tests/unit/backend/prepare_for_ptx_test.cpp.

#include "backend/prepare_for_ptx.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

namespace tritonc {
namespace {

void select_log2(llvm::IntrinsicInst &call) {
  llvm::IRBuilder<> builder(&call);
  call.replaceAllUsesWith(
      builder.CreateIntrinsic(llvm::Intrinsic::nvvm_lg2_approx_f, {}, {call.getArgOperand(0)}));
  call.eraseFromParent();
}

void select_exp2(llvm::IntrinsicInst &call) {
  llvm::IRBuilder<> builder(&call);
  call.replaceAllUsesWith(builder.CreateIntrinsic(llvm::Intrinsic::nvvm_ex2_approx_ftz,
                                                  {call.getType()}, {call.getArgOperand(0)}));
  call.eraseFromParent();
}

void put_negation_first(llvm::IntrinsicInst &call) {
  using namespace llvm::PatternMatch;
  llvm::Value *a = call.getArgOperand(0), *b = call.getArgOperand(1);
  if (!match(b, m_Neg(m_Value())))
    return;
  if (!match(a, m_Neg(m_Value()))) {
    call.setArgOperand(0, b);
    call.setArgOperand(1, a);
    return;
  }
  llvm::IRBuilder<> builder(&call);
  llvm::Type *wide = builder.getInt64Ty();
  llvm::Value *wide_b = builder.CreateSExt(b, wide), *wide_a = builder.CreateSExt(a, wide);
  llvm::Value *result = builder.CreateBinaryIntrinsic(call.getIntrinsicID(), wide_a, wide_b);
  call.replaceAllUsesWith(builder.CreateTrunc(result, call.getType()));
  call.eraseFromParent();
}

} // namespace

void prepare_for_ptx(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!call)
        continue;
      llvm::Intrinsic::ID id = call->getIntrinsicID();
      if (id == llvm::Intrinsic::log2 && call->getType()->isFloatTy())
        select_log2(*call);
      else if (id == llvm::Intrinsic::exp2 && call->getType()->isFloatTy())
        select_exp2(*call);
      else if ((id == llvm::Intrinsic::smin || id == llvm::Intrinsic::smax) &&
               call->getType()->isIntegerTy(32))
        put_negation_first(*call);
    }
}

} // namespace tritonc
