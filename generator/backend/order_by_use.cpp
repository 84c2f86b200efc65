// order_by_use: moves computations to their first use.
//
//     %e0 = exp %x0                    %e0 = exp %x0
//     %e1 = exp %x1             =>     %d0 = fdiv %x0, %e0
//     %d0 = fdiv %x0, %e0              %e1 = exp %x1
//     %d1 = fdiv %x1, %e1              %d1 = fdiv %x1, %e1
//     %s = pack %d0, %d1               %s = pack %d0, %d1
//     store %s                         store %s
//
// Why. The lowering computes tile by tile, so all elements of one tile are live before the next tile
// starts. ptxas changes the order, but not across branches, and each division or square root has a
// branch to its slow path. Then an epilogue with a division spills, where it needs a few registers.
//
// Method: an effect, such as a store or a barrier, ends a segment of a block. No instruction leaves
// its segment. So what hides a latency before a wait stays before it. In a segment, the instructions
// that must keep their place come in the old order, each behind what it needs and has not yet. The
// pass erases instructions whose result nothing uses.
//
// Limits: a computation stays if it needs more than one result of those that keep their place. If it
// moved, these results would stay in registers instead of one: all loads of a matmul's loop.
//
// Tested by tests/unit/backend/order_by_use_test.cpp.

#include "backend/order_by_use.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Local.h"

namespace tritonc {
namespace {

using Segment = llvm::SmallVector<llvm::Instruction *>;

bool has_effect(const llvm::Instruction &instruction) {
  return instruction.mayHaveSideEffects() || instruction.isTerminator();
}

bool is_pure(const llvm::Instruction &instruction) {
  if (const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->isConvergent())
    return false;
  return !has_effect(instruction) && !instruction.mayReadFromMemory() &&
         !llvm::isa<llvm::AllocaInst>(instruction);
}

// An instruction that may move -> the one that stays and whose result it needs, or null.
using Movable = llvm::DenseMap<const llvm::Value *, const llvm::Value *>;

Movable movable_of(const Segment &segment) {
  const llvm::SmallPtrSet<const llvm::Value *, 32> of_segment(segment.begin(), segment.end());
  Movable movable;
  for (llvm::Instruction *instruction : segment) {
    if (!is_pure(*instruction) ||
        !llvm::all_of(instruction->users(), [&](auto *user) { return of_segment.contains(user); }))
      continue;
    const llvm::Value *needed = nullptr;
    bool one = true;
    for (const llvm::Value *operand : instruction->operands()) {
      if (movable.contains(operand))
        operand = movable.lookup(operand);
      else if (!of_segment.contains(operand))
        operand = nullptr;
      one &= !operand || !needed || operand == needed;
      needed = operand ? operand : needed;
    }
    if (one)
      movable[instruction] = needed;
  }
  return movable;
}

// Moves each instruction that may move to its first use.
void order(const Segment &segment) {
  Movable movable = movable_of(segment);

  // `waiting` has an instruction below the operands that come before it.
  llvm::SmallVector<std::pair<llvm::Instruction *, unsigned>> waiting;
  for (llvm::Instruction *place : segment) {
    if (movable.contains(place))
      continue;
    waiting.push_back({place, 0});
    while (!waiting.empty()) {
      auto &[instruction, next] = waiting.back();
      if (next == instruction->getNumOperands()) {
        if (instruction != place)
          instruction->moveBefore(place->getIterator());
        waiting.pop_back();
        continue;
      }
      auto *operand = llvm::dyn_cast<llvm::Instruction>(instruction->getOperand(next++));
      if (operand && movable.erase(operand))
        waiting.push_back({operand, 0});
    }
  }
}

// Replaced calls leave some operands without a use. These would keep their place, and all that they
// need, too.
void erase_unused(llvm::Function &function) {
  for (llvm::BasicBlock &block : llvm::reverse(function))
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::reverse(block)))
      if (llvm::isInstructionTriviallyDead(&instruction))
        instruction.eraseFromParent();
}

void order(llvm::BasicBlock &block) {
  Segment segment;
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(block)) {
    if (llvm::isa<llvm::PHINode>(instruction))
      continue;
    segment.push_back(&instruction);
    if (!has_effect(instruction))
      continue;
    order(segment);
    segment.clear();
  }
}

} // namespace

void order_by_use(llvm::Module &module) {
  for (llvm::Function &function : module) {
    erase_unused(function);
    for (llvm::BasicBlock &block : function)
      order(block);
  }
}

} // namespace tritonc
