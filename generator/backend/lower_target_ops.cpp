// lower_target_ops: replaces target operations with NVPTX intrinsics or inline PTX.
//
//     %m = call <4 x i32> @tritonc.ldmatrix_x4(i32 %s)
//  =>
//     %p = inttoptr i32 %s to ptr addrspace(3)
//     %r = call { i32, i32, i32, i32 }
//          @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %p)
//     %m = ... the four words as a vector
//
//     %d = call <4 x float> @tritonc.wgmma_wait_f32.v4f32(i32 4, i32 1, <4 x float> %c)
//  =>
//     %r = call { float, float, float, float } asm sideeffect
//          "wgmma.wait_group.sync.aligned 1;",
//          "=f,=f,=f,=f,0,1,2,3,~{memory}"(... the elements of %c)
//     %d = ... the four floats as a vector
//
//     %d = call <4 x float> @tritonc.wgmma_f16.v4f32(i32 4, i64 %a, ..., <4 x float> %c)
//     %s = add i64 %a, 2
//     %e = call <4 x float> @tritonc.wgmma_f16.v4f32(i32 4, i64 %s, ..., <4 x float> %d)
//     call void @tritonc.wgmma_commit()
//  =>
//     %s = add i64 %a, 2
//     %r = call { float, float, float, float } asm sideeffect
//          "wgmma.mma_async. ...; wgmma.mma_async. ...; wgmma.commit_group.sync.aligned;", ...
//
// Method.
// - The pass splits operands into scalars. It converts each scalar to the parameter type of the
//   intrinsic, or to a register operand of the PTX. Then it builds the result from the scalars.
// - If the result takes an operand's registers, the pass ties them element by element. So the
//   accumulators of wgmma stay in their registers.
// - A chain is a sequence of such operations, each on the registers of the previous one. It becomes
//   one inline PTX call. A hundred or more registers go in and out once, not once per operation.
//   Code generation of the largest matmul kernels takes half as long.
// - For the same reason the pass uses known vector elements directly, without an extractelement.
// - The pass has no code for a specific operation: target_ops.def has all differences.
//
// Tested by tests/unit/backend/lower_target_ops_test.cpp.

#include "backend/lower_target_ops.h"

#include "backend/global_access.h"
#include "backend/masked_access.h"
#include "backend/target_ops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Transforms/Utils/Local.h"

#include <cassert>

namespace tritonc {
namespace {

using Values = llvm::SmallVector<llvm::Value *>;

using Chain = llvm::SmallVector<llvm::CallInst *>;

const TargetOpInfo *info_of(const llvm::Instruction &instruction) {
  const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function *callee = call ? call->getCalledFunction() : nullptr;
  std::optional<TargetOp> op = callee ? target_op_named(callee->getName()) : std::nullopt;
  return op ? &target_op_info(*op) : nullptr;
}

// The operand whose registers the result takes; null if the result has its own registers.
llvm::Value *tied_operand(const llvm::CallInst &call, const TargetOpInfo &info) {
  for (auto [type, operand] : llvm::zip(info.operands, call.args()))
    if (type.elements == TargetType::overloaded)
      return operand;
  return nullptr;
}

// Whether `call` can extend a chain that ends with the result `value`.
bool continues(const llvm::CallInst &call, const TargetOpInfo &info, const llvm::Value &value) {
  if (info.effect != TargetEffect::Warpgroup || info.nvptx.kind != NvptxForm::Asm)
    return false;
  return tied_operand(call, info) == &value ? value.hasOneUse() : call.arg_empty();
}

// Only instructions without memory access or side effects may lie between the operations of a
// chain. They can move before the chain: only the next operation uses the chain's registers.
llvm::SmallVector<Chain> find_chains(llvm::BasicBlock &block) {
  llvm::SmallVector<Chain> chains;
  llvm::Value *value = nullptr; // result of the last chain, while the chain can grow
  for (llvm::Instruction &instruction : block) {
    const TargetOpInfo *info = info_of(instruction);
    auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (info && value && continues(*call, *info, *value))
      chains.back().push_back(call);
    else if (info && info->nvptx.kind == NvptxForm::Asm && tied_operand(*call, *info))
      chains.push_back({call});
    else {
      if (instruction.mayReadOrWriteMemory() || instruction.mayHaveSideEffects())
        value = nullptr;
      continue;
    }
    if (!call->getType()->isVoidTy())
      value = call;
  }
  return chains;
}

class Lowering {
public:
  /// `calls`: a chain, or a single call.
  explicit Lowering(llvm::ArrayRef<llvm::CallInst *> calls)
      : calls_(calls), call_(calls.front()), info_(*info_of(*call_)), builder_(calls.back()) {
    for (llvm::CallInst *call : calls)
      if (!call->getType()->isVoidTy())
        call_ = call;
  }

  void run() {
    switch (info_.nvptx.kind) {
    case NvptxForm::Intrinsic:
      return replace(call_intrinsic());
    case NvptxForm::Asm:
      return replace(call_asm());
    case NvptxForm::Hint:
      return hint();
    case NvptxForm::Report:
      break; // lower_device_printf_assert has removed them
    }
    llvm_unreachable("all forms are above, and others are gone");
  }

private:
  void replace(llvm::CallInst *result) {
    if (!call_->getType()->isVoidTy()) {
      if (call_->getType()->isVectorTy() && result->getType()->isStructTy())
        replace_elements(result);
      if (!call_->use_empty())
        call_->replaceAllUsesWith(pack(result, call_->getType()));
    }
    llvm::SmallVector<llvm::WeakTrackingVH> vectors;
    for (llvm::CallInst *call : llvm::reverse(calls_)) {
      for (llvm::Value *operand : call->args())
        if (llvm::isa<llvm::InsertElementInst>(operand))
          vectors.push_back(operand);
      call->eraseFromParent();
    }
    llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(vectors);
  }

  // Replaces each extractelement of the vector with the scalar.
  void replace_elements(llvm::CallInst *result) {
    Values fields(llvm::cast<llvm::StructType>(result->getType())->getNumElements());
    for (llvm::User *user : llvm::make_early_inc_range(call_->users())) {
      auto *extract = llvm::dyn_cast<llvm::ExtractElementInst>(user);
      auto *index =
          extract ? llvm::dyn_cast<llvm::ConstantInt>(extract->getIndexOperand()) : nullptr;
      if (!index)
        continue;
      llvm::Value *&field = fields[index->getZExtValue()];
      if (!field)
        field = builder_.CreateExtractValue(result, unsigned(index->getZExtValue()));
      extract->replaceAllUsesWith(coerce(field, extract->getType()));
      extract->eraseFromParent();
    }
  }

  // Moves the cache hint from the address to the loads and stores at that address.
  void hint() {
    llvm::Value *address = call_->getArgOperand(0);
    hint_accesses(*call_, address);
    call_->replaceAllUsesWith(address);
    call_->eraseFromParent();
  }

  // `marked` is the hinted address, `address` the same address without a hint.
  void hint_accesses(llvm::Value &marked, llvm::Value *address) {
    for (llvm::User *user : llvm::make_early_inc_range(marked.users())) {
      auto *instruction = llvm::cast<llvm::Instruction>(user);
      builder_.SetInsertPoint(instruction);
      GlobalAccess access{.qualifiers = info_.nvptx.text.str()};
      if (call_->arg_size() == 2)
        access.policy = call_->getArgOperand(1);
      std::optional<MaskedAccess> masked = masked_access(*instruction);
      if (masked)
        access.on = masked->on;
      auto *store = llvm::dyn_cast<llvm::StoreInst>(user);
      llvm::Value *stored = masked ? masked->stored : store ? store->getValueOperand() : nullptr;
      if (stored && stored != &marked) {
        store_global(builder_, stored, address, access);
        instruction->eraseFromParent();
      } else if (masked || llvm::isa<llvm::LoadInst>(user)) {
        user->replaceAllUsesWith(load_global(builder_, user->getType(), address, access,
                                             masked ? masked->masked_off : nullptr));
        instruction->eraseFromParent();
      } else if (auto *gep = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
        llvm::Instruction *unmarked = builder_.Insert(gep->clone());
        unmarked->setOperand(0, address);
        hint_accesses(*gep, unmarked);
        gep->replaceAllUsesWith(unmarked);
        gep->eraseFromParent();
      }
    }
  }

  llvm::CallInst *call_intrinsic() {
    llvm::Function *intrinsic = llvm::Intrinsic::getOrInsertDeclaration(
        call_->getModule(), info_.nvptx.intrinsic, overloads());
    Values arguments = intrinsic_arguments();
    llvm::FunctionType *type = intrinsic->getFunctionType();
    assert(arguments.size() == type->getNumParams() && "the table's arguments fit the intrinsic");
    for (auto [argument, wanted] : llvm::zip(arguments, type->params()))
      argument = coerce(argument, wanted);
    llvm::CallInst *result = builder_.CreateCall(intrinsic, arguments);
    copy_range(result);
    return result;
  }

  // In the table, an intrinsic is overloaded only by its pointer type, and the pointer is its first
  // argument.
  llvm::SmallVector<llvm::Type *> overloads() {
    if (!llvm::Intrinsic::isOverloaded(info_.nvptx.intrinsic))
      return {};
    llvm::Type *address = call_->getArgOperand(0)->getType();
    return {address->isPointerTy() ? address : llvm::PointerType::get(builder_.getContext(), 3)};
  }

  Values intrinsic_arguments() {
    Values arguments;
    if (info_.nvptx.text.empty()) {
      for (llvm::Value *operand : call_->args())
        arguments.append(elements(operand));
      return arguments;
    }
    llvm::SmallVector<llvm::StringRef> parts;
    info_.nvptx.text.split(parts, ',');
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

  // Inline PTX numbers the result registers first, then the operand registers.
  llvm::CallInst *call_asm() {
    Values arguments;
    llvm::SmallVector<std::string> constraints, texts;
    llvm::SmallVector<llvm::Type *> result_types = element_types(call_->getType());
    for (llvm::Type *type : result_types)
      constraints.push_back(std::string("=") + constraint(type));
    std::string result = registers(call_->getType(), 0);

    for (llvm::CallInst *call : calls_) {
      llvm::SmallVector<std::string> operands;
      for (auto [type, operand] : llvm::zip(info_of(*call)->operands, call->args())) {
        if (type.kind == TargetType::imm) {
          operands.push_back(std::to_string(immediate(operand)));
          continue;
        }
        bool tied = type.elements == TargetType::overloaded;
        assert((!tied ||
                element_types(operand->getType()).size() == immediate(call->getArgOperand(0))) &&
               "an acc is as long as the first operand says");
        if (tied && call != calls_.front()) { // it is already in the result registers
          operands.push_back(result);
          continue;
        }
        operands.push_back(registers(operand->getType(), constraints.size()));
        for (auto [i, element] : llvm::enumerate(elements(operand))) {
          constraints.push_back(tied ? std::to_string(i)
                                     : std::string(1, constraint(element->getType())));
          arguments.push_back(element);
        }
      }
      texts.push_back(asm_text(*call, result, operands));
    }
    bool acts = info_.effect != TargetEffect::Pure && info_.effect != TargetEffect::Warp;
    if (acts)
      constraints.push_back("~{memory}");

    llvm::SmallVector<llvm::Type *> types;
    for (llvm::Value *argument : arguments)
      types.push_back(argument->getType());
    auto *type = llvm::FunctionType::get(asm_result(result_types), types, /*isVarArg=*/false);
    llvm::CallInst *call = builder_.CreateCall(
        llvm::InlineAsm::get(type, llvm::join(texts, "\n\t"), llvm::join(constraints, ","), acts),
        arguments);
    if (call_->isConvergent())
      call->setConvergent();
    return call;
  }

  // The table's PTX text with registers in place of `$n` and `$r`.
  static std::string asm_text(const llvm::CallInst &call, const std::string &result,
                              llvm::ArrayRef<std::string> operands) {
    std::string text;
    for (llvm::StringRef rest = info_of(call)->nvptx.text; !rest.empty();) {
      auto [plain, after] = rest.split('$');
      text += plain;
      rest = after;
      if (rest.empty())
        break;
      size_t number = 0;
      if (rest.consume_front("r"))
        text += result;
      else if (rest.consume_front("N"))
        text += std::to_string(2 * immediate(call.getArgOperand(0)));
      else if (rest.starts_with("{"))
        text += '$';
      else if (!rest.consumeInteger(10, number))
        text += operands[number];
      else
        llvm_unreachable("`$` as target_ops.def explains it");
    }
    return text;
  }

  static uint64_t immediate(llvm::Value *operand) {
    return llvm::cast<llvm::ConstantInt>(operand)->getZExtValue();
  }

  // "$3", or "{$3, $4}" for a vector.
  static std::string registers(llvm::Type *type, size_t first) {
    auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    if (!vector)
      return "$" + std::to_string(first);
    std::string text;
    for (unsigned i = 0; i < vector->getNumElements(); i++)
      text += (i ? ", $" : "{$") + std::to_string(first + i);
    return text + "}";
  }

  static char constraint(llvm::Type *type) {
    if (type->isFloatTy())
      return 'f';
    if (type->isDoubleTy())
      return 'd';
    return type->isIntegerTy(32) ? 'r' : 'l';
  }

  llvm::Type *asm_result(llvm::ArrayRef<llvm::Type *> types) {
    if (types.empty())
      return builder_.getVoidTy();
    return types.size() == 1 ? types[0] : llvm::StructType::get(builder_.getContext(), types);
  }

  static llvm::SmallVector<llvm::Type *> element_types(llvm::Type *type) {
    if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
      return llvm::SmallVector<llvm::Type *>(vector->getNumElements(), vector->getElementType());
    if (type->isVoidTy())
      return {};
    return {type};
  }

  Values elements(llvm::Value *value) {
    auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    if (!vector)
      return {value};
    Values result;
    for (unsigned i = 0; i < vector->getNumElements(); i++) {
      llvm::Value *scalar = llvm::findScalarElement(value, i);
      result.push_back(scalar ? scalar : builder_.CreateExtractElement(value, i));
    }
    return result;
  }

  llvm::Value *coerce(llvm::Value *value, llvm::Type *wanted) {
    llvm::Type *type = value->getType();
    if (type == wanted)
      return value;
    if (wanted->isPointerTy() && type->isIntegerTy())
      return builder_.CreateIntToPtr(value, wanted);
    if (wanted->isIntegerTy() && type->isPointerTy())
      return builder_.CreatePtrToInt(value, wanted);
    if (wanted->isIntegerTy(1))
      return builder_.CreateIsNotNull(value);
    if (wanted->isIntegerTy() && type->isIntegerTy())
      return builder_.CreateZExtOrTrunc(value, wanted);
    return builder_.CreateBitCast(value, wanted);
  }

  llvm::Value *pack(llvm::Value *value, llvm::Type *wanted) {
    auto *fields = llvm::dyn_cast<llvm::StructType>(value->getType());
    if (!fields)
      return coerce(value, wanted);
    if (!wanted->isVectorTy())
      return coerce(builder_.CreateExtractValue(value, fields->getNumElements() - 1), wanted);
    llvm::Value *vector = llvm::PoisonValue::get(wanted);
    for (unsigned i = 0; i < fields->getNumElements(); i++)
      vector = builder_.CreateInsertElement(vector, builder_.CreateExtractValue(value, i), i);
    return vector;
  }

  // Code generation also uses the range: the extension of a thread index below 1024 to 64 bits
  // costs no instruction.
  void copy_range(llvm::CallInst *result) {
    llvm::Attribute range = call_->getCalledFunction()->getRetAttribute(llvm::Attribute::Range);
    if (range.isValid() && result->getType() == call_->getType())
      result->addRetAttr(range);
  }

  llvm::ArrayRef<llvm::CallInst *> calls_;
  llvm::CallInst *call_;      // the call whose result the chain returns
  const TargetOpInfo &info_;  // of the first call; all calls of a chain have the same effect
  llvm::IRBuilder<> builder_; // before the last call: all operands are available there
};

} // namespace

void lower_target_ops(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (const Chain &chain : find_chains(block))
        Lowering(chain).run();
  for (llvm::Function &function : llvm::make_early_inc_range(module)) {
    std::optional<TargetOp> op = target_op_named(function.getName());
    if (!op)
      continue;
    // Lowering one call may erase another call that becomes dead.
    llvm::SmallVector<llvm::WeakTrackingVH> calls(function.users());
    for (llvm::WeakTrackingVH &call : calls)
      if (call)
        Lowering(llvm::cast<llvm::CallInst>(call)).run();
    function.eraseFromParent();
  }
}

} // namespace tritonc
