// Lowers warp specialization, and the mbarriers between partitions.
//
// The warps of the first partition come first, one group after another; those of the other
// partitions follow. Where one thread runs a partition, its other warps exist only to release their
// registers.
//
// Tested by tests/unit/lower/warp_specialize_test.cpp.

#include "lower/lowering.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

llvm::Value *Lowering::mbarrier(const Op &op, size_t operand) {
  return stage_address(op.operand(operand), op.operand(operand + 1));
}

// One thread initializes the mbarriers. lower_warp_specialize makes them visible to the others.
void Lowering::lower_mbarriers(const Op &op) {
  const Type &type = op.result()->type;
  guarded(is_first_thread(), [&] {
    llvm::Value *address =
        builder_.CreatePtrToInt(module_.getGlobalVariable("tritonc_shared"), builder_.getInt32Ty());
    for (int64_t stage = 0; stage < type.shape[0]; stage++) {
      auto offset = uint32_t(op.get(attr::address_) + stage * bytes_of(type.elem));
      call_target_op(builder_, TargetOp::mbarrier_init,
                     {builder_.CreateAdd(address, builder_.getInt32(offset)),
                      builder_.getInt32(uint32_t(op.get(attr::arrivals_)))});
    }
  });
}

void Lowering::lower_mbarrier_wait(const Op &op) {
  call_target_op(builder_, TargetOp::mbarrier_wait, {mbarrier(op, 0), scalar(op.operand(2))});
}

void Lowering::lower_mbarrier_arrive(const Op &op) {
  llvm::Value *address = mbarrier(op, 0);
  if (op.has(attr::bytes_))
    return by_one_thread([&] {
      call_target_op(builder_, TargetOp::mbarrier_arrive_expect_tx,
                     {address, builder_.getInt32(uint32_t(op.get(attr::bytes_)))});
    });
  if (op.has(attr::per_warp_))
    call_target_op(builder_, TargetOp::warp_sync);
  llvm::Value *speaks_for_warp = partition_ && partition_->is_one_thread
                                     ? nullptr
                                     : builder_.CreateICmpEQ(lane(), builder_.getInt32(0));
  if (op.has(attr::cluster_)) { // lane r arrives in block r
    llvm::Value *blocks = builder_.getInt32(uint32_t(op.get(attr::cluster_)));
    guarded(builder_.CreateICmpULT(lane(), blocks), [&] {
      llvm::Value *there = call_target_op(builder_, TargetOp::map_shared_rank, {address, lane()});
      call_target_op(builder_, TargetOp::mbarrier_arrive_cluster, {there});
    });
    return;
  }
  guarded(speaks_for_warp, [&] { call_target_op(builder_, TargetOp::mbarrier_arrive, {address}); });
}

// Barrier 0 is that of all threads. Those of the groups follow.
void Lowering::lower_barrier() {
  if (!partition_) {
    call_target_op(builder_, program_of_block_ ? TargetOp::warp_sync : TargetOp::barrier);
    return;
  }
  llvm::Value *number = builder_.getInt32(uint32_t(1 + partition_->first_group));
  if (consumer_group_)
    number = builder_.CreateAdd(number, consumer_group_);
  call_target_op(builder_, TargetOp::barrier_sync,
                 {number, builder_.getInt32(uint32_t(32 * partition_->warps))});
}

void Lowering::lower_warp_specialize(const Op &op) {
  const std::vector<Partition> partitions = partitions_of(op);
  if (std::any_of(partitions.begin(), partitions.end(),
                  [](const Partition &partition) { return partition.is_one_thread; }))
    call_target_op(builder_, TargetOp::fence_mbarrier_init); // makes the mbarriers visible to TMA
  if (op.has(attr::cluster_))
    lower_cluster_barrier();
  else
    call_target_op(builder_, TargetOp::barrier);

  llvm::Value *warp_of_block = warp(); // a cluster_load_reduce renumbers the warps
  llvm::BasicBlock *after = nullptr;
  for (const Partition &partition : partitions) {
    llvm::BasicBlock *others = nullptr;
    if (partition.block != partitions.back().block) {
      auto *own = llvm::BasicBlock::Create(context_, "partition", function_);
      others = llvm::BasicBlock::Create(context_, "other_partitions", function_);
      llvm::Value *end = builder_.getInt32(uint32_t(partition.first_warp + partition.all_warps()));
      builder_.CreateCondBr(builder_.CreateICmpULT(warp_of_block, end), own, others);
      builder_.SetInsertPoint(own);
    }
    if (!after)
      after = llvm::BasicBlock::Create(context_, "specialize.end", function_);
    lower_partition(partition, warp_of_block);
    builder_.CreateBr(after);
    if (others)
      builder_.SetInsertPoint(others);
  }
  builder_.SetInsertPoint(after);
}

void Lowering::lower_partition(const Partition &partition, llvm::Value *warp_of_block) {
  partition_ = partition;
  // At the start each thread has an equal share of the registers.
  const int64_t share =
      gpu_.registers_per_block / std::max(fn_.blocks_per_sm, 1) / fn_.threads() / 8 * 8;
  if (partition.registers)
    call_target_op(
        builder_, partition.registers > share ? TargetOp::setmaxnreg_inc : TargetOp::setmaxnreg_dec,
        {builder_.getInt32(uint32_t(partition.registers))});
  llvm::Value *first = builder_.getInt32(uint32_t(partition.first_warp));
  warp_ = warp_of_block;
  if (partition.is_one_thread) {
    lower_by_one(*partition.block, first);
  } else {
    if (partition.first_warp)
      warp_ = builder_.CreateSub(warp_of_block, first);
    if (partition.groups > 1) {
      llvm::Value *warps = builder_.getInt32(uint32_t(partition.warps)), *of_partition = warp_;
      consumer_group_ = builder_.CreateUDiv(of_partition, warps, "consumer_group");
      warp_ = builder_.CreateURem(of_partition, warps);
    }
    lower_block(*partition.block);
  }
  consumer_group_ = nullptr;
  warp_ = warp_of_block;
  partition_.reset();
}

void Lowering::by_one_thread(const std::function<void()> &emit) {
  guarded(partition_ && partition_->is_one_thread ? nullptr : is_first_thread(), emit);
}

void Lowering::lower_by_one(const Block &block, llvm::Value *of_warp) {
  llvm::Value *is_first = builder_.CreateICmpEQ(warp(), of_warp);
  guarded(is_first, [&] {
    llvm::Value *elected = call_target_op(builder_, TargetOp::elect);
    guarded(builder_.CreateICmpNE(elected, builder_.getInt32(0)), [&] { lower_block(block); });
  });
}

} // namespace tritonc
