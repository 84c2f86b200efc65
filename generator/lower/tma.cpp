// Lowers TMA loads and stores, box by box. The boxes of a buffer are its panels, so each box is
// contiguous in shared memory.
//
// Tested by tests/unit/lower/warp_specialize_test.cpp.

#include "lower/lowering.h"

#include "analysis/launch_config.h"
#include "target/cache_policies.h"

#include <cstdint>

namespace tritonc {

using namespace ir;

namespace {

TargetOp load_op(size_t rank) {
  constexpr TargetOp ops[] = {TargetOp::tma_load_1d, TargetOp::tma_load_2d, TargetOp::tma_load_3d,
                              TargetOp::tma_load_4d, TargetOp::tma_load_5d};
  return ops[rank - 1];
}

TargetOp hinted_load_op(size_t rank) {
  constexpr TargetOp ops[] = {TargetOp::tma_load_hinted_1d, TargetOp::tma_load_hinted_2d,
                              TargetOp::tma_load_hinted_3d, TargetOp::tma_load_hinted_4d,
                              TargetOp::tma_load_hinted_5d};
  return ops[rank - 1];
}

TargetOp multicast_op(size_t rank) {
  constexpr TargetOp ops[] = {TargetOp::tma_load_multicast_1d, TargetOp::tma_load_multicast_2d,
                              TargetOp::tma_load_multicast_3d, TargetOp::tma_load_multicast_4d,
                              TargetOp::tma_load_multicast_5d};
  return ops[rank - 1];
}

TargetOp store_op(size_t rank) {
  constexpr TargetOp ops[] = {TargetOp::tma_store_1d, TargetOp::tma_store_2d,
                              TargetOp::tma_store_3d, TargetOp::tma_store_4d,
                              TargetOp::tma_store_5d};
  return ops[rank - 1];
}

// Calls `visit` with the first index of every box of `tile`.
template <typename Visit> void for_each_box(const Shape &tile, const Shape &box, Visit visit) {
  std::vector<int64_t> at(tile.size(), 0);
  for (;;) {
    visit(at);
    size_t d = tile.size();
    while (d-- > 0) {
      at[d] += box[d];
      if (at[d] < tile[d])
        break;
      at[d] = 0;
    }
    if (d == size_t(-1))
      return;
  }
}

} // namespace

// Calls `visit` for every box of the tile in a stage: with its shared address, its coordinates in
// the tensor, in TMA's order, and whether a predicated copy copies it; null: always. The coordinates
// of the tile start at operand `first`. Along axes of the tensor that the tile does not have, the
// tile has one element.
template <typename Visit>
void Lowering::for_each_box_of(const Op &op, const Value *map, const Value *buffer,
                               const Value *stage, size_t first, Visit visit) {
  Shape tile(buffer->type.shape.begin() + 1, buffer->type.shape.end());
  tile.insert(tile.begin(), map->type.shape.size() - tile.size(), 1);
  std::vector<int> order = copy_order(*map->op);
  const size_t predicated =
      op.has(attr::predicated_) ? size_t(op.get(attr::predicated_)) : SIZE_MAX;
  llvm::Value *start = stage_address(buffer, stage);
  for_each_box(tile, map->type.shape, [&](const std::vector<int64_t> &at) {
    uint32_t offset =
        buffer->type.layout->offset_of(flatten(tile, at)) * uint32_t(bytes_of(buffer->type.elem));
    std::vector<llvm::Value *> coordinates;
    llvm::Value *is_inside = nullptr; // the first box of a tile is always copied
    for (int of_tensor : order) {
      const auto axis = size_t(of_tensor);
      coordinates.push_back(builder_.CreateAdd(scalar(op.operand(first + axis)),
                                               builder_.getInt32(uint32_t(at[axis]))));
      if (axis == predicated && at[axis] > 0)
        is_inside = builder_.CreateICmpSLT(coordinates.back(), scalar(op.operands.back()));
    }
    visit(builder_.CreateAdd(start, builder_.getInt32(offset)), coordinates, is_inside);
  });
}

// Completes the bytes of a box that is not copied: wgmma may read it, but no result of that is used.
void Lowering::leave_out(const Op &op, llvm::Value *box, llvm::Value *barrier) {
  const Type &map = op.operand(0)->type;
  const int64_t bytes = element_count(map.shape) * bytes_of(map.elem);
  call_target_op(builder_, TargetOp::mbarrier_complete_tx,
                 {barrier, builder_.getInt32(uint32_t(bytes)), box});
}

// Block r of the cluster copies the boxes r, r + blocks, ... to all blocks. Of boxes that are left
// out, each block completes the bytes by itself.
void Lowering::lower_multicast(const Op &op) {
  const int64_t blocks = op.get(attr::multicast_);
  llvm::Value *barrier = mbarrier(op, 3), *mask = builder_.getInt32((1u << blocks) - 1);
  llvm::Value *rank = call_target_op(builder_, TargetOp::cluster_ctarank);
  std::vector<llvm::Value *> box; // its address, the map, its coordinates, whether it is copied
  int64_t place = 0;              // of the box among those of which this block copies one
  for_each_box_of(
      op, op.operand(0), op.operand(1), op.operand(2), 5,
      [&](llvm::Value *address, const std::vector<llvm::Value *> &coordinates,
          llvm::Value *is_inside) {
        if (is_inside)
          guarded(builder_.CreateNot(is_inside), [&] { leave_out(op, address, barrier); });
        std::vector<llvm::Value *> next = {address, scalar(op.operand(0))};
        next.insert(next.end(), coordinates.begin(), coordinates.end());
        next.push_back(is_inside ? is_inside : builder_.getTrue());
        llvm::Value *is_own = builder_.CreateICmpEQ(rank, builder_.getInt32(uint32_t(place)));
        for (size_t i = 0; i < next.size() && place > 0; i++)
          next[i] = next[i] == box[i] ? box[i] : builder_.CreateSelect(is_own, next[i], box[i]);
        box = std::move(next);
        place = (place + 1) % blocks;
        if (place > 0)
          return;
        llvm::Value *is_copied = box.back() == builder_.getTrue() ? nullptr : box.back();
        box.back() = barrier;
        box.push_back(mask);
        guarded(is_copied,
                [&] { call_target_op(builder_, multicast_op(coordinates.size()), box); });
      });
}

void Lowering::lower_tma_load_async(const Op &op) {
  if (op.has(attr::multicast_))
    return lower_multicast(op);
  const Value *map = op.operand(0);
  llvm::Value *barrier = mbarrier(op, 3);
  const std::optional<int64_t> policy = cache_policy::of_hint(op.get(attr::cache_));
  by_one_thread([&] {
    for_each_box_of(op, map, op.operand(1), op.operand(2), 5,
                    [&](llvm::Value *box, const std::vector<llvm::Value *> &coordinates,
                        llvm::Value *is_inside) {
                      std::vector<llvm::Value *> operands = {box, scalar(map)};
                      operands.insert(operands.end(), coordinates.begin(), coordinates.end());
                      operands.push_back(barrier);
                      if (policy)
                        operands.push_back(builder_.getInt64(uint64_t(*policy)));
                      auto copy = [&] {
                        call_target_op(builder_,
                                       policy ? hinted_load_op(coordinates.size())
                                              : load_op(coordinates.size()),
                                       operands);
                      };
                      if (!is_inside)
                        return copy();
                      branched(is_inside, copy, [&] { leave_out(op, box, barrier); });
                    });
  });
}

void Lowering::lower_tma_store_async(const Op &op) {
  const Value *map = op.operand(0);
  guarded(is_first_thread(), [&] {
    for_each_box_of(
        op, map, op.operand(1), op.operand(2), 3,
        [&](llvm::Value *box, const std::vector<llvm::Value *> &coordinates, llvm::Value *) {
          std::vector<llvm::Value *> operands = {scalar(map)};
          operands.insert(operands.end(), coordinates.begin(), coordinates.end());
          operands.push_back(box);
          call_target_op(builder_, store_op(coordinates.size()), operands);
        });
    call_target_op(builder_, TargetOp::bulk_commit);
  });
}

} // namespace tritonc
