// Lowers the operations of a cluster: its barrier, and reductions over the shared memory of its
// blocks.
//
// After a cluster_load_reduce without {to_all} the warps are numbered across the cluster, block by
// block. Layouts use these numbers.
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
  if (!op.has(attr::to_all_)) {
    llvm::Value *rank = call_target_op(builder_, TargetOp::cluster_ctarank);
    llvm::Value *earlier = builder_.CreateMul(rank, builder_.getInt32(uint32_t(fn_.warps)));
    warp_ = builder_.CreateOr(warp_, earlier, "warp");
  }

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

} // namespace tritonc
