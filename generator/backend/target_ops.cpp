// Makes the rows of target_ops.def available as data, and declares and calls the operations in a
// module.
// Tested by tests/unit/backend/target_ops_test.cpp.

#include "backend/target_ops.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/ModRef.h"

#include <algorithm>
#include <cassert>
#include <deque>

namespace tritonc {
namespace {

constexpr llvm::StringLiteral prefix = "tritonc.";

// The words of the table's columns.
constexpr TargetType none{TargetType::none}, i32{TargetType::i32}, i64{TargetType::i64},
    f32{TargetType::f32}, f64{TargetType::f64}, ptr{TargetType::ptr}, gptr{TargetType::gptr},
    imm{TargetType::imm};

constexpr TargetType v2i32{TargetType::i32, 2}, v4i32{TargetType::i32, 4},
    v4f32{TargetType::f32, 4}, v2f64{TargetType::f64, 2}, v4f64{TargetType::f64, 4},
    v8f64{TargetType::f64, 8};

constexpr TargetType acc{TargetType::f32, TargetType::overloaded},
    iacc{TargetType::i32, TargetType::overloaded};

constexpr TargetType below(unsigned limit) { return {TargetType::i32, 1, limit}; }

#define OPERANDS(...) {__VA_ARGS__}
#define INTRINSIC(id) INTRINSIC_OF(id, "")
#define INTRINSIC_OF(id, arguments)                                                                \
  NvptxForm { NvptxForm::Intrinsic, llvm::Intrinsic::nvvm_##id, arguments }
#define ASM(text)                                                                                  \
  NvptxForm { NvptxForm::Asm, llvm::Intrinsic::not_intrinsic, text }
#define WGMMA(text)                                                                                \
  ASM("{\n\t.reg .pred accumulate;\n\tsetp.ne.b32 accumulate, $3, 0;\n\t"                          \
      "wgmma.mma_async.sync.aligned." text ";\n\t}")
#define HINT(text)                                                                                 \
  NvptxForm { NvptxForm::Hint, llvm::Intrinsic::not_intrinsic, text }
#define REPORT                                                                                     \
  NvptxForm { NvptxForm::Report }

// The column `sm`, "89 ptx84" or "90a".
struct Since {
  int sm = 0, ptx_version = 0;
  bool only_this_sm = false;

  explicit Since(llvm::StringRef column) {
    [[maybe_unused]] bool malformed = column.consumeInteger(10, sm);
    assert(!malformed && "a number comes first");
    only_this_sm = column.consume_front("a");
    if (column.consume_front(" ptx"))
      malformed = column.consumeInteger(10, ptx_version);
    assert(!malformed && column.empty() && "sm as target_ops.def explains it");
  }
};

std::string make_signature(const char *name, const char *result, const char *operands) {
  std::string text = std::string(name) + " " + result;
  for (const char *c = operands; *c; c++)
    if (*c != ' ')
      text += *c;
  return text;
}

TargetOpInfo make_row(TargetOp op, const char *name, const char *result_text,
                      const char *operands_text, TargetType result,
                      std::vector<TargetType> operands, TargetEffect effect, const char *sm,
                      NvptxForm nvptx) {
  static std::deque<std::string> signatures; // deque: its strings never move
  signatures.push_back(make_signature(name, result_text, operands_text));
  Since since(sm);
  return {.op = op,
          .name = name,
          .signature = signatures.back(),
          .result = result,
          .operands = std::move(operands),
          .effect = effect,
          .min_sm = since.sm,
          .only_this_sm = since.only_this_sm,
          .min_ptx_version = since.ptx_version,
          .nvptx = nvptx};
}

llvm::MemoryEffects memory_effects(TargetEffect effect) {
  switch (effect) {
  case TargetEffect::Pure:
  case TargetEffect::Warp:
    return llvm::MemoryEffects::none();
  case TargetEffect::WarpShuffle:
    return llvm::MemoryEffects::inaccessibleMemOnly();
  case TargetEffect::WarpReadShared:
  case TargetEffect::Read:
    return llvm::MemoryEffects::readOnly();
  case TargetEffect::WarpWriteShared:
  case TargetEffect::Write:
    return llvm::MemoryEffects::writeOnly();
  case TargetEffect::Report:
    return llvm::MemoryEffects::inaccessibleOrArgMemOnly();
  case TargetEffect::Atomic:
  case TargetEffect::AsyncCopy:
  case TargetEffect::Wait:
  case TargetEffect::Barrier:
  case TargetEffect::Mbarrier:
  case TargetEffect::Fence:
  case TargetEffect::Warpgroup:
    return llvm::MemoryEffects::unknown();
  }
  llvm_unreachable("all effects are above");
}

llvm::AttributeList attributes(llvm::LLVMContext &context, const TargetOpInfo &info) {
  llvm::AttrBuilder function(context);
  function.addAttribute(llvm::Attribute::NoUnwind);
  function.addAttribute(llvm::Attribute::NoCallback);
  function.addMemoryAttr(memory_effects(info.effect));
  if (info.effect != TargetEffect::Report)
    function.addAttribute(llvm::Attribute::WillReturn);
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

// The name suffix of an overloaded operation: ".v64f32".
std::string suffix(const TargetOpInfo &info, unsigned acc_elements) {
  if (!info.is_overloaded())
    return "";
  return (".v" + llvm::Twine(acc_elements) + (info.result.kind == TargetType::f32 ? "f32" : "i32"))
      .str();
}

llvm::Function *declare(llvm::Module &module, const TargetOpInfo &info, unsigned acc_elements) {
  std::string name = (prefix + info.name + suffix(info, acc_elements)).str();
  if (llvm::Function *function = module.getFunction(name))
    return function;

  llvm::LLVMContext &context = module.getContext();
  llvm::SmallVector<llvm::Type *> types;
  for (TargetType type : info.operands)
    types.push_back(type.get(context, acc_elements));
  auto *type = llvm::FunctionType::get(info.result.get(context, acc_elements), types,
                                       /*isVarArg=*/false);
  auto *function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  function->setAttributes(attributes(context, info));
  return function;
}

std::vector<TargetOp> called_target_ops(const llvm::Module &module) {
  std::vector<TargetOp> ops;
  for (const llvm::Function &function : module)
    if (!function.use_empty())
      if (std::optional<TargetOp> op = target_op_named(function.getName()))
        ops.push_back(*op);
  return ops;
}

} // namespace

llvm::Type *TargetType::get(llvm::LLVMContext &context, unsigned acc_elements) const {
  auto scalar = [&]() -> llvm::Type * {
    switch (kind) {
    case none:
      return llvm::Type::getVoidTy(context);
    case i32:
    case imm:
      return llvm::Type::getInt32Ty(context);
    case i64:
      return llvm::Type::getInt64Ty(context);
    case f32:
      return llvm::Type::getFloatTy(context);
    case f64:
      return llvm::Type::getDoubleTy(context);
    case ptr:
      return llvm::PointerType::get(context, 0);
    case gptr:
      return llvm::PointerType::get(context, 1);
    }
    llvm_unreachable("all kinds are above");
  };
  if (!is_vector())
    return scalar();
  assert((elements != overloaded || acc_elements) && "how long an acc is must be said");
  return llvm::FixedVectorType::get(scalar(), elements == overloaded ? acc_elements : elements);
}

bool TargetOpInfo::is_overloaded() const { return result.elements == TargetType::overloaded; }

const std::vector<TargetOpInfo> &all_target_ops() {
  static const std::vector<TargetOpInfo> ops = {
#define TARGET_OP(name, result, operands, effect, sm, nvptx, ...)                                  \
  make_row(TargetOp::name, #name, #result, #operands, result, OPERANDS operands,                   \
           TargetEffect::effect, #sm, nvptx),
#include "backend/target_ops.def"
  };
  return ops;
}

const TargetOpInfo &target_op_info(TargetOp op) { return all_target_ops()[size_t(op)]; }

llvm::StringRef target_op_signature(TargetOp op) { return target_op_info(op).signature; }

bool has_target_op(const Gpu &gpu, TargetOp op) {
  const TargetOpInfo &info = target_op_info(op);
  if (info.only_this_sm)
    return gpu.sm == info.min_sm && gpu.suffix == 'a';
  return gpu.sm >= info.min_sm;
}

std::optional<TargetOp> target_op_named(llvm::StringRef name) {
  if (!name.consume_front(prefix))
    return std::nullopt;
  auto [plain, overload] = name.split('.');
  for (const TargetOpInfo &info : all_target_ops()) {
    if (plain != info.name)
      continue;
    unsigned acc_elements = 0;
    if (info.is_overloaded() && (!overload.consume_front("v") ||
                                 overload.consumeInteger(10, acc_elements) || acc_elements < 2))
      return std::nullopt;
    if (name != (info.name + suffix(info, acc_elements)).str())
      return std::nullopt;
    return info.op;
  }
  return std::nullopt;
}

llvm::CallInst *call_target_op(llvm::IRBuilderBase &builder, TargetOp op,
                               llvm::ArrayRef<llvm::Value *> operands) {
  const TargetOpInfo &info = target_op_info(op);
  assert(operands.size() == info.operands.size() && "operands as in target_ops.def");
  unsigned acc_elements = 0;
  if (info.is_overloaded())
    acc_elements = unsigned(llvm::cast<llvm::ConstantInt>(operands[0])->getZExtValue());
  llvm::Function *function = declare(*builder.GetInsertBlock()->getModule(), info, acc_elements);
  for (size_t i = 0; i < operands.size(); i++) {
    assert(operands[i]->getType() == function->getArg(unsigned(i))->getType() &&
           "an operand's type is the table's; an acc is as long as the first operand says");
    assert(
        (info.operands[i].kind != TargetType::imm || llvm::isa<llvm::ConstantInt>(operands[i])) &&
        "an imm operand is a constant");
  }
  return builder.CreateCall(function, operands);
}

const TargetOpInfo *find_missing_target_op(const llvm::Module &module, const Gpu &gpu) {
  for (TargetOp op : called_target_ops(module))
    if (!has_target_op(gpu, op))
      return &target_op_info(op);
  return nullptr;
}

int ptx_version_for(const llvm::Module &module, const Gpu &gpu) {
  int version = gpu.ptx_version;
  for (TargetOp op : called_target_ops(module))
    version = std::max(version, target_op_info(op).min_ptx_version);
  return version;
}

} // namespace tritonc
