// bypass_divisions: skips an integer division if the quotient is 0, and shifts if the divisor is a
// power of two.
//
//     %q = udiv i32 %x, %y
//  =>
//       %less = icmp ult i32 %x, %y
//       br i1 %less, label %divided, label %more
//     more:
//       %y1 = sub i32 %y, 1
//       %common = and i32 %y, %y1
//       %power = icmp eq i32 %common, 0
//       br i1 %power, label %shift, label %divide
//     shift:
//       %log2 = call i32 @llvm.cttz.i32(i32 %y, i1 true)
//       %s = lshr i32 %x, %log2
//       br label %divided
//     divide:
//       %d = udiv i32 %x, %y
//       br label %divided
//     divided:
//       %q = phi i32 [ 0, ... ], [ %s, %shift ], [ %d, %divide ]
//
// Why. A GPU divides integers through floating point. The instructions depend on each other, so one
// division takes about 100 cycles. A block computes its program index (swizzle_programs,
// make_persistent) with up to four dependent divisions, and can start no copy before them. On an
// H200 they take a twentieth of the time of a 1024 x 1024 x 1024 matmul. Most of these divisions
// have the quotient 0 or the divisor 16.
//
// Limits: unsigned 32-bit divisions with the same operands in all threads. The pass accepts
// function arguments, block indices and arithmetic on them. For other operands the threads of a
// warp could diverge; and threads usually compute many independent divisions, which overlap.
//
// Tested by tests/unit/backend/bypass_divisions_test.cpp.

#include "backend/bypass_divisions.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <vector>

namespace tritonc {
namespace {

using Seen = llvm::SmallPtrSet<const llvm::Value *, 16>;

bool is_index_of_block(llvm::Intrinsic::ID id) {
  return id == llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x ||
         id == llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y ||
         id == llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z ||
         id == llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x ||
         id == llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y ||
         id == llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z;
}

bool is_arithmetic(const llvm::Instruction &instruction) {
  if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
    return llvm::isa<llvm::MinMaxIntrinsic>(call);
  return instruction.isBinaryOp() || instruction.isCast() ||
         llvm::isa<llvm::CmpInst>(instruction) || llvm::isa<llvm::SelectInst>(instruction) ||
         llvm::isa<llvm::PHINode>(instruction) || llvm::isa<llvm::FreezeInst>(instruction);
}

bool is_same_for_all(const llvm::Value *value, Seen &seen) {
  if (llvm::isa<llvm::Argument>(value) || llvm::isa<llvm::Constant>(value))
    return true;
  auto *instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction)
    return false;
  if (!seen.insert(value).second)
    return true;
  if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(instruction);
      call && is_index_of_block(call->getIntrinsicID()))
    return true;
  return is_arithmetic(*instruction) &&
         llvm::all_of(instruction->operand_values(),
                      [&](const llvm::Value *operand) { return is_same_for_all(operand, seen); });
}

void bypass(llvm::BinaryOperator &division) {
  llvm::Value *x = division.getOperand(0), *y = division.getOperand(1);
  bool is_quotient = division.getOpcode() == llvm::Instruction::UDiv;
  llvm::BasicBlock *before = division.getParent();
  llvm::BasicBlock *divided = llvm::SplitBlock(before, &division);
  llvm::LLVMContext &context = division.getContext();
  auto block = [&](const char *name) {
    return llvm::BasicBlock::Create(context, name, before->getParent(), divided);
  };
  llvm::BasicBlock *more = block("more"), *shift = block("shift"), *divide = block("divide");

  before->getTerminator()->eraseFromParent();
  llvm::IRBuilder<> builder(before);
  builder.CreateCondBr(builder.CreateICmpULT(x, y), divided, more,
                       llvm::MDBuilder(context).createLikelyBranchWeights());
  builder.SetInsertPoint(more);
  llvm::Value *mask = builder.CreateSub(y, builder.getInt32(1));
  llvm::Value *is_power = builder.CreateICmpEQ(builder.CreateAnd(y, mask), builder.getInt32(0));
  builder.CreateCondBr(is_power, shift, divide);
  builder.SetInsertPoint(shift);
  llvm::Value *shifted =
      is_quotient ? builder.CreateLShr(x, builder.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, y,
                                                                        builder.getTrue()))
                  : builder.CreateAnd(x, mask);
  builder.CreateBr(divided);
  builder.SetInsertPoint(divide);
  llvm::Value *result = builder.Insert(division.clone());
  builder.CreateBr(divided);

  builder.SetInsertPoint(divided, divided->begin());
  llvm::PHINode *phi = builder.CreatePHI(division.getType(), 3);
  phi->addIncoming(is_quotient ? builder.getInt32(0) : x, before);
  phi->addIncoming(shifted, shift);
  phi->addIncoming(result, divide);
  division.replaceAllUsesWith(phi);
  division.eraseFromParent();
}

} // namespace

void bypass_divisions(llvm::Module &module) {
  std::vector<llvm::BinaryOperator *> divisions;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *found = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
      bool divides = found && (found->getOpcode() == llvm::Instruction::UDiv ||
                               found->getOpcode() == llvm::Instruction::URem);
      Seen seen;
      if (divides && found->getType()->isIntegerTy(32) &&
          !llvm::isa<llvm::Constant>(found->getOperand(1)) && is_same_for_all(found, seen))
        divisions.push_back(found);
    }
  for (llvm::BinaryOperator *division : divisions)
    bypass(*division);
}

} // namespace tritonc
