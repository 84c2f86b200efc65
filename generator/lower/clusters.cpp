// Lowers the operations of a cluster: its barrier, and reductions over the shared memory of its
// blocks. Totals for all blocks travel by st.async, whose bytes count on an mbarrier: a barrier of the
// cluster would cost a fence of all memory.
//
// After a cluster_load_reduce the warps are numbered across the cluster, block by block. Layouts use
// these numbers.
//
// Tested by tests/unit/lower/clusters_test.cpp.

#include "analysis/layouts.h"
#include "lower/addresses.h"
#include "lower/shuffle.h"

namespace tritonc {

using namespace ir;

void Lowering::lower_cluster_barrier() {
  call_target_op(builder_, TargetOp::cluster_arrive);
  call_target_op(builder_, TargetOp::cluster_wait);
}

void Lowering::lower_cluster_load_reduce(const Op &op) {
  constexpr uint32_t word_bytes = 4;
  llvm::Value *rank = call_target_op(builder_, TargetOp::cluster_ctarank);
  llvm::Value *earlier = builder_.CreateMul(rank, builder_.getInt32(uint32_t(fn_.warps)));
  warp_ = builder_.CreateOr(warp_, earlier, "warp");

  const Type &type = op.result()->type;
  const LinearLayout &layout = *type.layout;
  SharedAddresses addresses(*this, op.operand(0), op.operand(1), layout);
  Registers totals((size_t(layout.registers())));
  const Opcode how = *combining_op(op.get(attr::op_));
  auto add = [&](int r, llvm::Value *word) {
    llvm::Value *value = builder_.CreateBitCast(word, type_of(type.elem));
    llvm::Value *&total = totals[size_t(r)];
    total = total ? combined(builder_, how, total, value) : value;
  };

  // Loads four words at a time if a thread's registers hold four adjacent words.
  int axis = register_axis(layout);
  bool by_four = layout.registers() >= 4;
  for (uint32_t bit : {0, 1})
    by_four = by_four && addresses.register_images().size() > bit &&
              addresses.register_images()[bit] == word_bytes << bit &&
              layout.reg[bit] == FlatIndex(1) << bit << axis_shift(layout.shape, axis);
  int width = by_four ? 4 : 1;
  for (int64_t block = 0; block < op.get(attr::blocks_); block++)
    for (int r = 0; r < layout.registers(); r += width) {
      llvm::Value *there = call_target_op(
          builder_, TargetOp::map_shared_rank,
          {addresses.at(addresses.constant(uint32_t(r))), builder_.getInt32(uint32_t(block))});
      if (!by_four) {
        add(r, call_target_op(builder_, TargetOp::load_cluster, {there}));
        continue;
      }
      llvm::Value *words = call_target_op(builder_, TargetOp::load_cluster_x4, {there});
      for (int i = 0; i < width; i++)
        add(r + i, builder_.CreateExtractElement(words, uint64_t(i)));
    }
  define(op.result(), std::move(totals));
}

void Lowering::lower_cluster_send(const Op &op) {
  const Value *tile = op.operand(0);
  const LinearLayout &layout = *tile->type.layout;
  guarded(holds_first_copy(layout), [&] {
    SharedAddresses addresses(*this, op.operand(1), op.operand(2), layout);
    llvm::Value *own_mbarrier = mbarrier(op, 3);
    for (int64_t block = 0; block < op.get(attr::blocks_); block++) {
      auto there = [&](llvm::Value *address) {
        return call_target_op(builder_, TargetOp::map_shared_rank,
                              {address, builder_.getInt32(uint32_t(block))});
      };
      llvm::Value *of_block = there(own_mbarrier);
      for (auto [index, r] : registers_by_index(layout)) {
        llvm::Value *word =
            builder_.CreateBitCast(registers(tile)[size_t(r)], builder_.getInt32Ty());
        llvm::Value *address = there(addresses.at(addresses.constant(uint32_t(r))));
        call_target_op(builder_, TargetOp::store_async_cluster, {address, word, of_block});
      }
    }
  });
}

void Lowering::lower_cluster_receive(const Op &op) {
  const Type &type = op.result()->type;
  const auto stage_bytes = uint32_t(type.elements() * bytes_of(type.elem));
  const Opcode how = *combining_op(op.get(attr::op_));
  SharedAddresses addresses(*this, op.operand(0), op.operand(1), *type.layout);
  Registers totals((size_t(type.layout->registers())));
  for (uint32_t block = 0; block < op.get(attr::blocks_); block++)
    for (uint32_t r = 0; r < totals.size(); r++) {
      llvm::Value *address = builder_.CreateAdd(addresses.at(addresses.constant(r)),
                                                builder_.getInt32(block * stage_bytes));
      llvm::Value *value = builder_.CreateLoad(
          type_of(type.elem), builder_.CreateIntToPtr(address, builder_.getPtrTy(3)));
      llvm::Value *&total = totals[r];
      total = total ? combined(builder_, how, total, value) : value;
    }
  define(op.result(), std::move(totals));
}

} // namespace tritonc
