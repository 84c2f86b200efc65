// Lowering: warps with work of their own, and the mbarriers by which they wait for each other.
//
// The program's warps come first, team by team, and the helpers behind them. Of the helpers all
// work, or one thread; then the others of its warpgroup are there to give up their registers.

#include "lower/lowering.h"

namespace tritonc {

using namespace ir;

namespace {

constexpr int workers_barrier = 1; // and behind it those of further teams; 0 is that of all threads

} // namespace

llvm::Value *Lowering::mbarrier(const Op &op, size_t operand) {
  return slot_address(op.operand(operand), op.operand(operand + 1));
}

// One thread sets them up; specialize makes that known to the others.
void Lowering::lower_mbarriers(const Op &op) {
  const Type &type = op.result()->type;
  guarded(is_first_thread(), [&] {
    llvm::Value *address =
        builder_.CreatePtrToInt(module_.getGlobalVariable("tritonc_shared"), builder_.getInt32Ty());
    for (int64_t slot = 0; slot < type.shape[0]; slot++) {
      auto offset = uint32_t(op.integer("address") + slot * bytes_of(type.elem));
      call_target_op(builder_, TargetOp::mbarrier_init,
                     {builder_.CreateAdd(address, builder_.getInt32(offset)),
                      builder_.getInt32(uint32_t(op.integer("arrivals")))});
    }
  });
}

void Lowering::lower_mbarrier_wait(const Op &op) {
  call_target_op(builder_, TargetOp::mbarrier_wait, {mbarrier(op, 0), scalar(op.operand(2))});
}

void Lowering::lower_mbarrier_arrive(const Op &op) {
  llvm::Value *address = mbarrier(op, 0);
  if (op.has("bytes")) {
    call_target_op(builder_, TargetOp::mbarrier_arrive_expect_tx,
                   {address, builder_.getInt32(uint32_t(op.integer("bytes")))});
    return;
  }
  if (op.has("together"))
    call_target_op(builder_, TargetOp::warp_sync);
  llvm::Value *speaks_for_warp =
      part_ == Part::helper ? nullptr : builder_.CreateICmpEQ(lane(), builder_.getInt32(0));
  if (part_ == Part::helpers) // for what the others have stored too
    call_target_op(builder_, TargetOp::warp_sync);
  guarded(speaks_for_warp, [&] { call_target_op(builder_, TargetOp::mbarrier_arrive, {address}); });
}

void Lowering::lower_barrier() {
  if (part_ == Part::whole) {
    call_target_op(builder_, TargetOp::barrier);
    return;
  }
  llvm::Value *number = builder_.getInt32(workers_barrier);
  if (team_)
    number = builder_.CreateAdd(number, team_);
  call_target_op(builder_, TargetOp::barrier_sync,
                 {number, builder_.getInt32(uint32_t(32 * fn_.warps))});
}

void Lowering::lower_specialize(const Op &op) {
  if (!op.has("all_helpers")) // else the copy engine knows of no mbarrier
    call_target_op(builder_, TargetOp::fence_mbarrier_init);
  call_target_op(builder_, TargetOp::barrier);

  auto *workers = llvm::BasicBlock::Create(context_, "workers", function_);
  auto *helpers = llvm::BasicBlock::Create(context_, "helpers", function_);
  auto *after = llvm::BasicBlock::Create(context_, "specialize.end", function_);
  llvm::Value *first_helper = builder_.getInt32(uint32_t(fn_.warps * fn_.teams));
  builder_.CreateCondBr(builder_.CreateICmpULT(warp(), first_helper), workers, helpers);
  std::vector<int64_t> registers = op.list("registers");
  llvm::Value *warp_of_block = warp(); // a cluster_load numbers the workers anew

  // What a thread has at the start is its share of all.
  int64_t share = gpu_.registers_per_block / fn_.threads() / 8 * 8;
  auto take = [&](int64_t count) {
    TargetOp change = count > share ? TargetOp::setmaxnreg_inc : TargetOp::setmaxnreg_dec;
    call_target_op(builder_, change, {builder_.getInt32(uint32_t(count))});
  };
  builder_.SetInsertPoint(workers);
  part_ = Part::workers;
  if (!registers.empty())
    take(registers[0]);
  if (fn_.teams > 1) {
    llvm::Value *warps = builder_.getInt32(uint32_t(fn_.warps));
    team_ = builder_.CreateUDiv(warp_of_block, warps, "team");
    warp_ = builder_.CreateURem(warp_of_block, warps);
  }
  lower_block(*op.blocks[0]);
  team_ = nullptr;
  builder_.CreateBr(after);

  builder_.SetInsertPoint(helpers);
  warp_ = warp_of_block;
  if (!registers.empty())
    take(registers[1]);
  if (op.has("all_helpers")) {
    part_ = Part::helpers;
    warp_ = builder_.CreateSub(warp_of_block, first_helper);
    lower_block(*op.blocks[1]);
    warp_ = warp_of_block;
  } else {
    part_ = Part::helper;
    lower_by_one(*op.blocks[1], first_helper);
  }
  builder_.CreateBr(after);

  builder_.SetInsertPoint(after);
  part_ = Part::whole;
}

void Lowering::lower_by_one(const Block &block, llvm::Value *of_warp) {
  llvm::Value *is_first = builder_.CreateICmpEQ(warp(), of_warp);
  guarded(is_first, [&] {
    llvm::Value *elected = call_target_op(builder_, TargetOp::elect);
    guarded(builder_.CreateICmpNE(elected, builder_.getInt32(0)), [&] { lower_block(block); });
  });
}

} // namespace tritonc
