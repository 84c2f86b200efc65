// lower_target_ops: calls of declared GPU operations become NVPTX intrinsics.
//
//     %m = call <4 x i32> @tritonc.ldmatrix_x4(i32 %s)
//  =>
//     %p = inttoptr i32 %s to ptr addrspace(3)
//     %r = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr
//     addrspace(3) %p) %m = ... the four words as a vector
//
// Method. Operands are taken apart into scalars and each scalar is made what the intrinsic's
// parameter is; the result is put together again. Nothing here knows a single operation: what
// differs between them is in target_ops.def.
//
// Tested by tests/backend/lower_target_ops_test.cpp.

#include "backend/lower_target_ops.h"

#include "backend/target_ops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"

#include <cassert>

namespace tritonc {
namespace {

using Values = llvm::SmallVector<llvm::Value *>;

class Lowering {
public:
  explicit Lowering(llvm::CallInst *call, const TargetOpInfo &info)
      : call_(call), info_(info), builder_(call) {}

  void run() {
    llvm::Function *intrinsic = llvm::Intrinsic::getOrInsertDeclaration(
        call_->getModule(), info_.nvptx_intrinsic, overloads());
    Values arguments = nvptx_arguments();
    llvm::FunctionType *type = intrinsic->getFunctionType();
    assert(arguments.size() == type->getNumParams() && "the table's arguments fit the intrinsic");
    for (auto [argument, wanted] : llvm::zip(arguments, type->params()))
      argument = coerce(argument, wanted);

    llvm::CallInst *result = builder_.CreateCall(intrinsic, arguments);
    if (!call_->getType()->isVoidTy()) {
      copy_range(result);
      call_->replaceAllUsesWith(pack(result, call_->getType()));
    }
    call_->eraseFromParent();
  }

private:
  // Of all forms in the table only ldmatrix is overloaded, on the address space.
  llvm::SmallVector<llvm::Type *> overloads() {
    if (!llvm::Intrinsic::isOverloaded(info_.nvptx_intrinsic))
      return {};
    return {llvm::PointerType::get(builder_.getContext(), 3)};
  }

  Values nvptx_arguments() {
    Values arguments;
    if (info_.nvptx_arguments.empty()) {
      for (llvm::Value *operand : call_->args())
        arguments.append(elements(operand));
      return arguments;
    }
    llvm::SmallVector<llvm::StringRef> parts;
    info_.nvptx_arguments.split(parts, ',');
    for (llvm::StringRef part : parts) {
      part = part.trim();
      int number = 0;
      bool is_operand = part.consume_front("$");
      [[maybe_unused]] bool malformed = part.getAsInteger(10, number);
      assert(!malformed && "an argument is $n or an integer");
      if (is_operand)
        arguments.append(elements(call_->getArgOperand(number)));
      else
        arguments.push_back(builder_.getInt32(number));
    }
    return arguments;
  }

  Values elements(llvm::Value *value) {
    auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    if (!vector)
      return {value};
    Values result;
    for (unsigned i = 0; i < vector->getNumElements(); i++)
      result.push_back(builder_.CreateExtractElement(value, i));
    return result;
  }

  llvm::Value *coerce(llvm::Value *value, llvm::Type *wanted) {
    if (value->getType() == wanted)
      return value;
    if (wanted->isPointerTy() && value->getType()->isIntegerTy())
      return builder_.CreateIntToPtr(value, wanted);
    return builder_.CreateBitCast(value, wanted);
  }

  llvm::Value *pack(llvm::Value *value, llvm::Type *wanted) {
    auto *fields = llvm::dyn_cast<llvm::StructType>(value->getType());
    if (!fields)
      return coerce(value, wanted);
    llvm::Value *vector = llvm::PoisonValue::get(wanted);
    for (unsigned i = 0; i < fields->getNumElements(); i++)
      vector = builder_.CreateInsertElement(vector, builder_.CreateExtractValue(value, i), i);
    return vector;
  }

  // Code generation uses the range too: a thread number that fits 10 bits can be extended for
  // nothing.
  void copy_range(llvm::CallInst *result) {
    llvm::Attribute range = call_->getCalledFunction()->getRetAttribute(llvm::Attribute::Range);
    if (range.isValid() && result->getType() == call_->getType())
      result->addRetAttr(range);
  }

  llvm::CallInst *call_;
  const TargetOpInfo &info_;
  llvm::IRBuilder<> builder_;
};

} // namespace

void lower_target_ops(llvm::Module &module) {
  for (llvm::Function &function : llvm::make_early_inc_range(module)) {
    std::optional<TargetOp> op = target_op_named(function.getName());
    if (!op)
      continue;
    for (llvm::User *user : llvm::make_early_inc_range(function.users()))
      Lowering(llvm::cast<llvm::CallInst>(user), target_op_info(*op)).run();
    function.eraseFromParent();
  }
}

} // namespace tritonc
