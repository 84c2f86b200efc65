// scalarize_vectors: splits the phi of a vector into one phi per element.
//
//     %s = phi <2 x float> [ zeroinitializer, %entry ], [ %t, %loop ]
//     %x = extractelement <2 x float> %s, i64 1
//  =>
//     %0 = phi float [ 0.0, %entry ], [ %2, %loop ]
//     %1 = phi float [ 0.0, %entry ], [ %3, %loop ]     ; instead of %x
//     ...
//     %2 = extractelement <2 x float> %t, i64 0         ; where %loop ends
//     %3 = extractelement <2 x float> %t, i64 1
//
// Why. A loop carries the accumulators of wgmma in a hundred or more registers. For the optimizer
// they are one vector value. Code generation and lower_target_ops need the single elements.
//
// Limits: only vectors of 32-bit elements. Vectors of smaller elements fit in one register.
// Tested by tests/unit/backend/scalarize_vectors_test.cpp.

#include "backend/scalarize_vectors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

#include <cstdint>
#include <map>

namespace tritonc {
namespace {

using Elements = llvm::SmallVector<llvm::PHINode *>;

bool is_split(const llvm::PHINode &phi) {
  auto *type = llvm::dyn_cast<llvm::FixedVectorType>(phi.getType());
  return type && type->getScalarSizeInBits() == 32;
}

Elements make_elements(llvm::PHINode &phi) {
  auto *type = llvm::cast<llvm::FixedVectorType>(phi.getType());
  Elements elements;
  for (unsigned i = 0; i < type->getNumElements(); i++)
    elements.push_back(llvm::PHINode::Create(type->getElementType(), phi.getNumIncomingValues(), "",
                                             phi.getIterator()));
  return elements;
}

// Rebuilds the vector, for users that need the whole vector.
llvm::Value *vector_of(const Elements &elements, llvm::PHINode &phi) {
  llvm::IRBuilder<> builder(phi.getParent(), phi.getParent()->getFirstInsertionPt());
  llvm::Value *vector = llvm::PoisonValue::get(phi.getType());
  for (auto [i, element] : llvm::enumerate(elements))
    vector = builder.CreateInsertElement(vector, element, uint64_t(i));
  return vector;
}

} // namespace

void scalarize_vectors(llvm::Module &module) {
  llvm::SmallVector<llvm::PHINode *> phis;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *phi = llvm::dyn_cast<llvm::PHINode>(&instruction); phi && is_split(*phi))
        phis.push_back(phi);

  std::map<llvm::Value *, Elements> elements; // lookup only: the order of pointers is random
  for (llvm::PHINode *phi : phis)
    elements[phi] = make_elements(*phi);
  for (llvm::PHINode *phi : phis) {
    // One value for one block, however many edges come from there.
    std::map<llvm::BasicBlock *, llvm::SmallVector<llvm::Value *>> at_end;
    for (auto [block, value] : llvm::zip(phi->blocks(), phi->incoming_values())) {
      llvm::SmallVector<llvm::Value *> &parts = at_end[block];
      auto found = elements.find(value.get());
      for (auto [i, element] : llvm::enumerate(elements[phi])) {
        if (parts.size() == i) {
          llvm::Value *part = found != elements.end()
                                  ? found->second[i]
                                  : llvm::findScalarElement(value.get(), unsigned(i));
          if (!part)
            part = llvm::IRBuilder<>(block->getTerminator())
                       .CreateExtractElement(value.get(), uint64_t(i));
          parts.push_back(part);
        }
        element->addIncoming(parts[i], block);
      }
    }
  }
  for (llvm::PHINode *phi : phis) {
    for (llvm::User *user : llvm::make_early_inc_range(phi->users())) {
      auto *extract = llvm::dyn_cast<llvm::ExtractElementInst>(user);
      auto *index =
          extract ? llvm::dyn_cast<llvm::ConstantInt>(extract->getIndexOperand()) : nullptr;
      if (!index)
        continue;
      extract->replaceAllUsesWith(elements[phi][index->getZExtValue()]);
      extract->eraseFromParent();
    }
    bool is_needed =
        llvm::any_of(phi->users(), [&](llvm::User *user) { return !elements.count(user); });
    if (is_needed) {
      llvm::Value *vector = vector_of(elements[phi], *phi);
      phi->replaceUsesWithIf(vector,
                             [&](llvm::Use &use) { return !elements.count(use.getUser()); });
    }
  }
  for (llvm::PHINode *phi : phis)
    phi->replaceAllUsesWith(llvm::PoisonValue::get(phi->getType()));
  for (llvm::PHINode *phi : phis)
    phi->eraseFromParent();
}

} // namespace tritonc
