// Lowers warp specialization, and the mbarriers between producer and consumer warps.
//
// The program's warps come first, one consumer group after another. The producer warps follow.
// Either all producer warps work, or one thread does. In the second case the other warps of its
// warpgroup exist only to release their registers.
//
// Tested by tests/unit/lower/warp_specialize_test.cpp.

#include "lower/lowering.h"

namespace tritonc {

using namespace ir;

namespace {

constexpr int workers_barrier = 1; // barrier 0: all threads; 1 + i: consumer group i

} // namespace

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
  llvm::Value *speaks_for_warp =
      part_ == Part::producer ? nullptr : builder_.CreateICmpEQ(lane(), builder_.getInt32(0));
  if (part_ == Part::producers) // its arrival also covers the stores of the other lanes
    call_target_op(builder_, TargetOp::warp_sync);
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

void Lowering::lower_barrier() {
  if (part_ == Part::whole) {
    call_target_op(builder_, TargetOp::barrier);
    return;
  }
  llvm::Value *number = builder_.getInt32(workers_barrier);
  if (consumer_group_)
    number = builder_.CreateAdd(number, consumer_group_);
  call_target_op(builder_, TargetOp::barrier_sync,
                 {number, builder_.getInt32(uint32_t(32 * fn_.warps))});
}

void Lowering::lower_warp_specialize(const Op &op) {
  if (!op.has(attr::all_producers_)) // makes the mbarriers visible to TMA
    call_target_op(builder_, TargetOp::fence_mbarrier_init);
  if (op.has(attr::cluster_))
    lower_cluster_barrier();
  else
    call_target_op(builder_, TargetOp::barrier);

  auto *workers = llvm::BasicBlock::Create(context_, "workers", function_);
  auto *producers = llvm::BasicBlock::Create(context_, "producers", function_);
  auto *after = llvm::BasicBlock::Create(context_, "specialize.end", function_);
  llvm::Value *first_producer = builder_.getInt32(uint32_t(fn_.warps * fn_.consumer_groups));
  builder_.CreateCondBr(builder_.CreateICmpULT(warp(), first_producer), workers, producers);
  std::vector<int64_t> registers = op.get(attr::registers_);
  llvm::Value *warp_of_block = warp(); // a cluster_load_reduce renumbers the workers

  // At the start each thread has an equal share of the registers.
  int64_t share = gpu_.registers_per_block / fn_.threads() / 8 * 8;
  auto take = [&](int64_t count) {
    TargetOp change = count > share ? TargetOp::setmaxnreg_inc : TargetOp::setmaxnreg_dec;
    call_target_op(builder_, change, {builder_.getInt32(uint32_t(count))});
  };
  builder_.SetInsertPoint(workers);
  part_ = Part::workers;
  if (!registers.empty())
    take(registers[0]);
  if (fn_.consumer_groups > 1) {
    llvm::Value *warps = builder_.getInt32(uint32_t(fn_.warps));
    consumer_group_ = builder_.CreateUDiv(warp_of_block, warps, "consumer_group");
    warp_ = builder_.CreateURem(warp_of_block, warps);
  }
  lower_block(*op.blocks[0]);
  consumer_group_ = nullptr;
  builder_.CreateBr(after);

  builder_.SetInsertPoint(producers);
  warp_ = warp_of_block;
  if (!registers.empty())
    take(registers[1]);
  if (op.has(attr::all_producers_)) {
    part_ = Part::producers;
    warp_ = builder_.CreateSub(warp_of_block, first_producer);
    lower_block(*op.blocks[1]);
    warp_ = warp_of_block;
  } else {
    part_ = Part::producer;
    lower_by_one(*op.blocks[1], first_producer);
  }
  builder_.CreateBr(after);

  builder_.SetInsertPoint(after);
  part_ = Part::whole;
}

void Lowering::by_one_thread(const std::function<void()> &emit) {
  guarded(part_ == Part::producer ? nullptr : is_first_thread(), emit);
}

void Lowering::lower_by_one(const Block &block, llvm::Value *of_warp) {
  llvm::Value *is_first = builder_.CreateICmpEQ(warp(), of_warp);
  guarded(is_first, [&] {
    llvm::Value *elected = call_target_op(builder_, TargetOp::elect);
    guarded(builder_.CreateICmpNE(elected, builder_.getInt32(0)), [&] { lower_block(block); });
  });
}

} // namespace tritonc
