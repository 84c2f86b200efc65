// Masked loads and stores. See masked_access.h.
//
// Tested by tests/unit/backend/predicate_accesses_test.cpp.

#include "backend/masked_access.h"

#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IntrinsicInst.h"

namespace tritonc {
namespace {

// The mask of all elements; null if they differ, or if it is unknown.
llvm::Value *common_mask(llvm::Value *mask) {
  llvm::Value *first = llvm::findScalarElement(mask, 0);
  const unsigned count = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
  for (unsigned i = 1; i < count; i++)
    if (llvm::findScalarElement(mask, i) != first)
      return nullptr;
  return first;
}

} // namespace

std::optional<MaskedAccess> masked_access(const llvm::Instruction &instruction) {
  constexpr unsigned global_space = 1;
  const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (!call)
    return std::nullopt;
  MaskedAccess access = {};
  if (call->getIntrinsicID() == llvm::Intrinsic::masked_load) {
    access = {.address = call->getArgOperand(0),
              .on = common_mask(call->getArgOperand(1)),
              .masked_off = call->getArgOperand(2)};
  } else if (call->getIntrinsicID() == llvm::Intrinsic::masked_store) {
    access = {.address = call->getArgOperand(1),
              .on = common_mask(call->getArgOperand(2)),
              .stored = call->getArgOperand(0)};
  } else {
    return std::nullopt;
  }
  const bool is_global = access.address->getType()->getPointerAddressSpace() == global_space;
  return access.on && is_global ? std::optional(access) : std::nullopt;
}

} // namespace tritonc
