// Accesses to global memory as inline PTX. See global_access.h.
//
// Tested by tests/unit/backend/lower_target_ops_test.cpp and predicate_accesses_test.cpp.

#include "backend/global_access.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InlineAsm.h"

#include <algorithm>
#include <cassert>

namespace tritonc {
namespace {

using Values = llvm::SmallVector<llvm::Value *>;

// The registers of one access: `count` words of `bits` bits. Several words have at least 32 bits
// each. The smallest register has 16 bits.
struct Words {
  unsigned bits, count;

  explicit Words(llvm::Type *type) {
    const auto all = unsigned(type->getPrimitiveSizeInBits().getFixedValue());
    bits = all <= 32 ? all : type->getScalarSizeInBits() == 64 ? 64 : 32;
    count = all / bits;
    assert((all == bits || all == 64 || all == 128) && "as wide as an instruction");
  }

  std::string type() const {
    const std::string vector = count > 1 ? ".v" + std::to_string(count) : "";
    return vector + ".b" + std::to_string(bits);
  }
  std::string constraint() const { return bits == 64 ? "l" : bits == 32 ? "r" : "h"; }
  llvm::Type *register_type(llvm::IRBuilderBase &builder) const {
    return builder.getIntNTy(std::max(bits, 16u));
  }

  // "$0", or "{$0, $1}".
  std::string text() const {
    std::string text;
    for (unsigned i = 0; i < count; i++)
      text += (i ? ", $" : "$") + std::to_string(i);
    return count > 1 ? "{" + text + "}" : text;
  }

  Values split(llvm::IRBuilderBase &builder, llvm::Value *value) const {
    llvm::Type *word = builder.getIntNTy(bits);
    llvm::Value *all =
        builder.CreateBitCast(value, count == 1 ? word : llvm::FixedVectorType::get(word, count));
    Values words;
    for (unsigned i = 0; i < count; i++) {
      llvm::Value *one = count == 1 ? all : builder.CreateExtractElement(all, uint64_t(i));
      words.push_back(builder.CreateZExt(one, register_type(builder)));
    }
    return words;
  }

  // The value of `type` from the result of inline PTX.
  llvm::Value *join(llvm::IRBuilderBase &builder, llvm::Value *result, llvm::Type *type) const {
    if (count == 1)
      return builder.CreateBitCast(builder.CreateTrunc(result, builder.getIntNTy(bits)), type);
    llvm::Value *vector =
        llvm::PoisonValue::get(llvm::FixedVectorType::get(register_type(builder), count));
    for (unsigned i = 0; i < count; i++)
      vector =
          builder.CreateInsertElement(vector, builder.CreateExtractValue(result, i), uint64_t(i));
    return builder.CreateBitCast(vector, type);
  }
};

// Inline PTX and its operands, in the order of `$n`.
struct InlinePtx {
  llvm::SmallVector<std::string> constraints;
  Values arguments;

  // The text of the operand.
  std::string add(llvm::Value *argument, const std::string &constraint) {
    arguments.push_back(argument);
    constraints.push_back(constraint);
    return "$" + std::to_string(constraints.size() - 1);
  }

  // The texts before the access and after its other operands.
  std::string predicate(const GlobalAccess &access) {
    return access.on ? "@" + add(access.on, "b") + " " : "";
  }
  std::string policy(const GlobalAccess &access) {
    return access.policy ? ", " + add(access.policy, "l") : "";
  }

  llvm::Value *call(llvm::IRBuilderBase &builder, const std::string &text, llvm::Type *result) {
    constraints.push_back("~{memory}");
    llvm::SmallVector<llvm::Type *> types;
    for (llvm::Value *argument : arguments)
      types.push_back(argument->getType());
    auto *type = llvm::FunctionType::get(result, types, /*isVarArg=*/false);
    return builder.CreateCall(llvm::InlineAsm::get(type, text + ";", llvm::join(constraints, ","),
                                                   /*hasSideEffects=*/true),
                              arguments);
  }
};

} // namespace

llvm::Value *load_global(llvm::IRBuilderBase &builder, llvm::Type *type, llvm::Value *address,
                         const GlobalAccess &access, llvm::Value *masked_off) {
  const Words words(type);
  llvm::Type *word = words.register_type(builder), *result = word;
  if (words.count > 1)
    result = llvm::StructType::get(builder.getContext(),
                                   llvm::SmallVector<llvm::Type *>(words.count, word));
  InlinePtx ptx;
  ptx.constraints.assign(words.count, "=" + words.constraint());
  const std::string at = ptx.add(address, "l");
  const std::string policy = ptx.policy(access), predicate = ptx.predicate(access);
  // The registers of the result have `masked_off` before the load.
  if (access.on && !llvm::isa<llvm::UndefValue>(masked_off))
    for (auto [i, other] : llvm::enumerate(words.split(builder, masked_off)))
      ptx.add(other, std::to_string(i));
  const std::string text = predicate + "ld.global" + access.qualifiers + words.type() + " " +
                           words.text() + ", [" + at + "]" + policy;
  return words.join(builder, ptx.call(builder, text, result), type);
}

void store_global(llvm::IRBuilderBase &builder, llvm::Value *value, llvm::Value *address,
                  const GlobalAccess &access) {
  const Words words(value->getType());
  InlinePtx ptx;
  for (llvm::Value *word : words.split(builder, value))
    ptx.add(word, words.constraint());
  const std::string at = ptx.add(address, "l");
  const std::string policy = ptx.policy(access), predicate = ptx.predicate(access);
  ptx.call(builder,
           predicate + "st.global" + access.qualifiers + words.type() + " [" + at + "], " +
               words.text() + policy,
           builder.getVoidTy());
}

} // namespace tritonc
