// group_operations: calls of one GPU-only operation that don't depend on each other side by side.
//
//     %a = call i32 @tritonc.cvt_rna_tf32(float %x)
//     %d = call <4 x float> @tritonc.mma_m16n8k8_tf32(..., %a, ...)
//     %b = call i32 @tritonc.cvt_rna_tf32(float %y)
//     %e = call <4 x float> @tritonc.mma_m16n8k8_tf32(..., %b, ...)
//  =>
//     %a = call i32 @tritonc.cvt_rna_tf32(float %x)
//     %b = call i32 @tritonc.cvt_rna_tf32(float %y)
//     %d = call <4 x float> @tritonc.mma_m16n8k8_tf32(..., %a, ...)
//     %e = call <4 x float> @tritonc.mma_m16n8k8_tf32(..., %b, ...)
//
// Why. On a host the 32 threads of a warp take turns, and meet at every operation of the warp. What
// that costs is the meeting, so neighbours meet once: a step of a matrix product has hundreds of
// operations, but only a few groups of them.
//
// Method. A block is cut into regions at everything that touches memory, but for the operations
// that may be grouped; one region has only those that read shared memory, or only those that copy
// to it. In a region instructions are put in order again: those that only compute as soon as they
// can be; when none is left, the first call that can be made, with all others of its operation that
// can be made too.
//
// Ensures: each thread of a warp makes the same calls in the same order, if it did before.
// Limits: nothing moves from one block to another.
// Tested by tests/backend/group_operations_test.cpp.

#include "backend/group_operations.h"

#include "backend/target_ops.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tritonc {
namespace {

// What an instruction does to memory, as far as regions go.
enum class Touch { nothing, reads, copies, anything };

std::optional<TargetOp> op_of(const llvm::CallInst *call) {
  const llvm::Function *callee = call ? call->getCalledFunction() : nullptr;
  return callee ? target_op_named(callee->getName()) : std::nullopt;
}

Touch touch(const llvm::Instruction &instruction) {
  std::optional<TargetOp> op = op_of(llvm::dyn_cast<llvm::CallInst>(&instruction));
  if (!op)
    return instruction.mayReadOrWriteMemory() || instruction.mayHaveSideEffects() ? Touch::anything
                                                                                  : Touch::nothing;
  switch (target_op_info(*op).effect) {
  case TargetEffect::Pure:
  case TargetEffect::Warp:
  case TargetEffect::WarpExchange:
    return Touch::nothing;
  case TargetEffect::WarpReadShared:
    return Touch::reads;
  case TargetEffect::AsyncCopy: // of these a wait has to know the order, but for the plain copies
    return *op == TargetOp::cp_async_4 || *op == TargetOp::cp_async_8 ||
                   *op == TargetOp::cp_async_16
               ? Touch::copies
               : Touch::anything;
  default:
    return Touch::anything;
  }
}

// Puts the instructions of one region in order.
class Region {
public:
  explicit Region(llvm::ArrayRef<llvm::Instruction *> instructions)
      : instructions_(instructions.begin(), instructions.end()), missing_(instructions.size()),
        users_(instructions.size()) {
    for (size_t i = 0; i < instructions.size(); i++)
      places_[instructions[i]] = i;
    for (size_t i = 0; i < instructions.size(); i++)
      for (const llvm::Use &operand : instructions[i]->operands()) {
        auto found = places_.find(llvm::dyn_cast<llvm::Instruction>(operand.get()));
        if (found == places_.end())
          continue;
        users_[found->second].push_back(i);
        missing_[i]++;
      }
    for (size_t i = 0; i < instructions.size(); i++)
      if (missing_[i] == 0)
        make_ready(i);
  }

  std::vector<llvm::Instruction *> in_order() {
    while (order_.size() < instructions_.size()) {
      while (!computing_.empty())
        emit(computing_.extract(computing_.begin()).value());
      if (calls_.empty())
        continue;
      std::set<size_t> group = take_group();
      for (size_t i : group)
        emit(i);
    }
    return order_;
  }

private:
  void make_ready(size_t i) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(instructions_[i]);
    if (!op_of(call))
      computing_.insert(i);
    else
      calls_[call->getCalledFunction()].insert(i);
  }

  // All calls that can be made of the operation whose turn it is.
  std::set<size_t> take_group() {
    auto first = calls_.begin();
    for (auto it = calls_.begin(); it != calls_.end(); ++it)
      if (*it->second.begin() < *first->second.begin())
        first = it;
    std::set<size_t> group = std::move(first->second);
    calls_.erase(first);
    return group;
  }

  void emit(size_t i) {
    order_.push_back(instructions_[i]);
    for (size_t user : users_[i])
      if (--missing_[user] == 0)
        make_ready(user);
  }

  std::vector<llvm::Instruction *> instructions_, order_;
  llvm::DenseMap<llvm::Instruction *, size_t> places_;
  std::vector<int> missing_; // operands that are not there yet
  std::vector<std::vector<size_t>> users_;
  std::set<size_t> computing_;
  std::map<llvm::Function *, std::set<size_t>> calls_; // whose order decides nothing
};

void order_region(llvm::SmallVectorImpl<llvm::Instruction *> &region, llvm::Instruction *end) {
  if (region.size() > 2)
    for (llvm::Instruction *instruction : Region(region).in_order())
      instruction->moveBefore(end->getIterator());
  region.clear();
}

void order_block(llvm::BasicBlock &block) {
  llvm::SmallVector<llvm::Instruction *> region;
  Touch touched = Touch::nothing; // by the region so far
  llvm::SmallVector<llvm::Instruction *> all;
  for (llvm::Instruction &instruction : block)
    if (!llvm::isa<llvm::PHINode>(instruction))
      all.push_back(&instruction);
  for (llvm::Instruction *instruction : all) {
    Touch own = touch(*instruction);
    bool is_end = instruction->isTerminator() || own == Touch::anything;
    bool differs = own != Touch::nothing && touched != Touch::nothing && own != touched;
    if (is_end || differs) {
      order_region(region, instruction);
      touched = Touch::nothing;
    }
    if (is_end)
      continue;
    region.push_back(instruction);
    if (own != Touch::nothing)
      touched = own;
  }
}

} // namespace

bool can_be_grouped(const llvm::CallInst &call) {
  return op_of(&call) && touch(call) != Touch::anything;
}

void group_operations(llvm::Function &function) {
  for (llvm::BasicBlock &block : function)
    order_block(block);
}

} // namespace tritonc
