// Computes the addresses of a tile's registers. See addresses.h.
//
// Tested by tests/unit/lower/memory_test.cpp and tests/unit/lower/shared_memory_test.cpp.

#include "lower/addresses.h"

#include <cassert>
#include <numeric>

namespace tritonc {

using namespace ir;

Lowering::GlobalAddresses::GlobalAddresses(Lowering &lowering, const Value *pointers,
                                           const LinearLayout &layout)
    : lowering_(lowering), pointers_(pointers), layout_(layout) {
  if (!pointers->type.is_view())
    return;
  llvm::IRBuilder<> &b = lowering.builder_;
  const Op &view = *pointers->op;
  std::vector<llvm::Value *> coordinates = lowering.thread_coordinates(layout);
  llvm::Value *offset = lowering.scalar(view.operand(1));
  for (size_t d = 0; d < coordinates.size(); d++) {
    llvm::Value *coordinate = b.CreateZExt(coordinates[d], b.getInt64Ty());
    llvm::Value *part =
        b.CreateMul(coordinate, lowering.scalar(view.operand(d + 2)), "", false, true);
    offset = b.CreateAdd(offset, part, "", false, true);
  }
  start_ =
      b.CreateGEP(lowering.type_of(pointers->type.elem), lowering.scalar(view.operand(0)), offset);
}

llvm::Value *Lowering::GlobalAddresses::operator[](int r) {
  if (!start_)
    return lowering_.registers(pointers_)[size_t(r)];
  llvm::IRBuilder<> &b = lowering_.builder_;
  std::vector<int64_t> coordinates = unflatten(layout_.shape, layout_.index(uint32_t(r), 0, 0));
  llvm::Value *address = start_;
  for (size_t d = 0; d < coordinates.size(); d++) {
    if (!coordinates[d])
      continue;
    llvm::Value *stride = lowering_.scalar(pointers_->op->operand(d + 2));
    llvm::Value *part = b.CreateMul(b.getInt64(uint64_t(coordinates[d])), stride, "", false, true);
    address = b.CreateGEP(lowering_.type_of(pointers_->type.elem), address, part);
  }
  return address;
}

Lowering::SharedAddresses::SharedAddresses(Lowering &lowering, const Value *buffer,
                                           const Value *stage, const LinearLayout &layout,
                                           const std::vector<int64_t> &perm,
                                           const std::vector<int64_t> &origin)
    : lowering_(lowering), images_(shared_images(buffer->type, layout, perm, origin)),
      base_(lowering.stage_address(buffer, stage)) {
  set_lane_images(images_.lane);
}

void Lowering::SharedAddresses::set_lane_images(std::vector<uint32_t> images) {
  images_.lane = std::move(images);
  thread_ = nullptr;
  starts_.clear();
  thread_bits_ = 0;
  for (uint32_t part : images_.lane)
    thread_bits_ |= part;
  for (uint32_t part : images_.warp)
    thread_bits_ |= part;
}

uint32_t Lowering::SharedAddresses::constant(uint32_t r) const {
  uint32_t sum = images_.origin;
  for (size_t bit = 0; bit < images_.reg.size(); bit++)
    if (r >> bit & 1)
      sum ^= images_.reg[bit];
  return sum;
}

llvm::Value *Lowering::SharedAddresses::at(uint32_t constant) {
  [[maybe_unused]] constexpr uint32_t swizzled_bytes = 1024;
  llvm::IRBuilder<> &b = lowering_.builder_;
  if (!thread_) {
    thread_ = lowering_.move_bits(lowering_.lane(), images_.lane);
    thread_ = b.CreateXor(thread_, lowering_.move_bits(lowering_.warp(), images_.warp));
    if (from_one_)
      thread_ = b.CreateAdd(base_, thread_);
  }
  uint32_t mixed = constant & thread_bits_, added = constant & ~thread_bits_;
  llvm::Value *&start = starts_[mixed];
  assert((!from_one_ || mixed < swizzled_bytes) && "what starts at its multiple has no such bits");
  if (!start) {
    start = b.CreateXor(thread_, b.getInt32(mixed));
    start = from_one_ ? start : b.CreateAdd(base_, start);
  }
  return added ? b.CreateAdd(start, b.getInt32(added)) : start;
}

std::vector<std::vector<int>> register_groups(const LinearLayout &layout, int width, int axis) {
  std::map<FlatIndex, int> places = registers_by_index(layout);
  const int shift = axis_shift(layout.shape, axis);
  const FlatIndex extent = FlatIndex(layout.shape[size_t(axis)]), below = (1u << shift) - 1;
  // Consecutive accesses are to adjacent vectors: L2 merges stores to parts of a sector.
  std::map<FlatIndex, FlatIndex> in_order;
  for (auto [index, r] : places) {
    const FlatIndex along = index >> shift & (extent - 1);
    const FlatIndex others = (index >> shift) / extent << shift | (index & below);
    if (along % FlatIndex(width) == 0)
      in_order.emplace(others * extent + along, index);
  }
  std::vector<std::vector<int>> groups;
  for (auto [order, index] : in_order) {
    std::vector<int> group;
    for (int i = 0; i < width; i++)
      group.push_back(places.at(index | FlatIndex(i) << shift));
    groups.push_back(std::move(group));
  }
  return groups;
}

int vector_axis(const Op &access) {
  const Value *pointers = access.operand(0);
  if (pointers->type.is_view())
    for (int d = pointers->type.rank(); d-- > 0;)
      if (pointers->type.shape[size_t(d)] > 1 &&
          constant_of(pointers->op->operand(size_t(d) + 2)) == 1)
        return d;
  return int(access.get(attr::axis_, pointers->type.rank() - 1));
}

} // namespace tritonc
