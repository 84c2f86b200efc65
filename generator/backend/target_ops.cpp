// The rows of target_ops.def as data, and their declarations in a module.
// Tested by tests/backend/target_ops_test.cpp.

#include "backend/target_ops.h"

#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/ModRef.h"

#include <cassert>

namespace tritonc {
namespace {

constexpr llvm::StringLiteral prefix = "tritonc.";

// The words of the table's columns.
constexpr TargetType none{TargetType::none}, i32{TargetType::i32}, v2i32{TargetType::v2i32},
    v4i32{TargetType::v4i32}, f32{TargetType::f32}, v4f32{TargetType::v4f32},
    gptr{TargetType::gptr}, imm{TargetType::imm};

constexpr TargetType below(unsigned limit) { return {TargetType::i32, limit}; }

#define OPERANDS(...) {__VA_ARGS__}
#define INTRINSIC(id) llvm::Intrinsic::nvvm_##id, ""
#define INTRINSIC_OF(id, arguments) llvm::Intrinsic::nvvm_##id, arguments

llvm::MemoryEffects memory_effects(TargetEffect effect) {
  switch (effect) {
  case TargetEffect::Pure:
  case TargetEffect::Warp:
    return llvm::MemoryEffects::none();
  case TargetEffect::WarpExchange:
    return llvm::MemoryEffects::inaccessibleMemOnly();
  case TargetEffect::WarpReadShared:
    return llvm::MemoryEffects::readOnly();
  case TargetEffect::AsyncCopy:
  case TargetEffect::Wait:
  case TargetEffect::Barrier:
    return llvm::MemoryEffects::unknown();
  }
  llvm_unreachable("all effects are above");
}

llvm::AttributeList attributes(llvm::LLVMContext &context, const TargetOpInfo &info) {
  llvm::AttrBuilder function(context);
  function.addAttribute(llvm::Attribute::NoUnwind);
  function.addAttribute(llvm::Attribute::WillReturn);
  function.addAttribute(llvm::Attribute::NoCallback);
  function.addMemoryAttr(memory_effects(info.effect));
  if (info.effect == TargetEffect::Pure)
    function.addAttribute(llvm::Attribute::Speculatable);
  else
    function.addAttribute(llvm::Attribute::Convergent);

  llvm::AttrBuilder result(context);
  if (info.result.below)
    result.addRangeAttr(
        llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, info.result.below)));
  if (info.result.kind != TargetType::none)
    result.addAttribute(llvm::Attribute::NoUndef);

  return llvm::AttributeList::get(context, llvm::AttributeSet::get(context, function),
                                  llvm::AttributeSet::get(context, result), {});
}

llvm::Function *declare(llvm::Module &module, const TargetOpInfo &info) {
  std::string name = (prefix + info.name).str();
  if (llvm::Function *function = module.getFunction(name))
    return function;

  llvm::LLVMContext &context = module.getContext();
  llvm::SmallVector<llvm::Type *> types;
  for (TargetType type : info.operands)
    types.push_back(type.get(context));
  auto *type = llvm::FunctionType::get(info.result.get(context), types, /*isVarArg=*/false);
  auto *function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  function->setAttributes(attributes(context, info));
  return function;
}

} // namespace

llvm::Type *TargetType::get(llvm::LLVMContext &context) const {
  auto *word = llvm::Type::getInt32Ty(context);
  auto *real = llvm::Type::getFloatTy(context);
  switch (kind) {
  case none:
    return llvm::Type::getVoidTy(context);
  case i32:
  case imm:
    return word;
  case v2i32:
    return llvm::FixedVectorType::get(word, 2);
  case v4i32:
    return llvm::FixedVectorType::get(word, 4);
  case f32:
    return real;
  case v4f32:
    return llvm::FixedVectorType::get(real, 4);
  case gptr:
    return llvm::PointerType::get(context, 1);
  }
  llvm_unreachable("all kinds are above");
}

const std::vector<TargetOpInfo> &all_target_ops() {
  static const std::vector<TargetOpInfo> ops = {
#define TARGET_OP(name, result, operands, effect, sm, nvptx)                                       \
  {TargetOp::name, #name, result, OPERANDS operands, TargetEffect::effect, sm, nvptx},
#include "backend/target_ops.def"
  };
  return ops;
}

const TargetOpInfo &target_op_info(TargetOp op) { return all_target_ops()[size_t(op)]; }

std::optional<TargetOp> target_op_named(llvm::StringRef name) {
  if (name.consume_front(prefix))
    for (const TargetOpInfo &info : all_target_ops())
      if (name == info.name)
        return info.op;
  return std::nullopt;
}

llvm::CallInst *call_target_op(llvm::IRBuilderBase &builder, TargetOp op,
                               llvm::ArrayRef<llvm::Value *> operands) {
  const TargetOpInfo &info = target_op_info(op);
  assert(operands.size() == info.operands.size() && "operands as in target_ops.def");
  for (size_t i = 0; i < operands.size(); i++)
    assert(
        (info.operands[i].kind != TargetType::imm || llvm::isa<llvm::ConstantInt>(operands[i])) &&
        "an imm operand is a constant");

  llvm::Function *function = declare(*builder.GetInsertBlock()->getModule(), info);
  return builder.CreateCall(function, operands);
}

} // namespace tritonc
