// cluster_target_ops: reorders instructions so that independent calls of one target operation are
// adjacent.
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
// Why. On a host the 32 threads of a warp run in turns and synchronize at every warp operation. The
// synchronization is the cost, and adjacent calls synchronize once. A K iteration of a matmul has
// hundreds of operations, but only a few groups of them.
//
// Method. Memory accesses split a basic block into regions. Operations that may be grouped do not
// split, but a region contains either only operations that read shared memory, or only operations
// that copy to it. The pass then schedules each region:
// 1. Instructions other than operations come as soon as their operands are available.
// 2. When none is left, the first available call comes, together with all other available calls of
//    its operation.
//
// Ensures: if all threads of a warp made the same calls in the same order, they still do.
// Limits: no instruction moves to another basic block.
// Tested by tests/unit/backend/cluster_target_ops_test.cpp.

#include "backend/cluster_target_ops.h"

#include "backend/target_ops.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tritonc {
namespace {

// The effect of an instruction on memory, for the split into regions.
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
  case TargetEffect::WarpShuffle:
    return Touch::nothing;
  case TargetEffect::WarpReadShared:
    return Touch::reads;
  case TargetEffect::AsyncCopy: // only cp_async_<n>: the order of commits and TMA copies matters
    return *op == TargetOp::cp_async_4 || *op == TargetOp::cp_async_8 ||
                   *op == TargetOp::cp_async_16
               ? Touch::copies
               : Touch::anything;
  default:
    return Touch::anything;
  }
}

// Schedules the instructions of one region.
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

  // All available calls of the operation that has the first available call.
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
  std::vector<int> missing_; // operands that are not yet available
  std::vector<std::vector<size_t>> users_;
  std::set<size_t> computing_;
  std::map<llvm::Function *, std::set<size_t>> calls_; // the order of the keys has no effect
};

void order_region(llvm::SmallVectorImpl<llvm::Instruction *> &region, llvm::Instruction *end) {
  if (region.size() > 2)
    for (llvm::Instruction *instruction : Region(region).in_order())
      instruction->moveBefore(end->getIterator());
  region.clear();
}

void order_block(llvm::BasicBlock &block) {
  llvm::SmallVector<llvm::Instruction *> region;
  Touch touched = Touch::nothing; // memory effect of the region so far
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

void cluster_target_ops(llvm::Function &function) {
  for (llvm::BasicBlock &block : function)
    order_block(block);
}

} // namespace tritonc
