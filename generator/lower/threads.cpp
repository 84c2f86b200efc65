// Implements layouts as arithmetic on the thread index.
//
// Tested by tests/unit/lower/shape_test.cpp and tests/unit/lower/memory_test.cpp.

#include "lower/lowering.h"

namespace tritonc {

using namespace ir;

std::map<FlatIndex, int> registers_by_index(const LinearLayout &layout) {
  std::map<FlatIndex, int> result;
  for (int r = 0; r < layout.registers(); r++)
    result.emplace(layout.index(uint32_t(r), 0, 0), r);
  return result;
}

// Adjacent bits with adjacent images move together: `(bits >> 2 & 7) * 16`.
llvm::Value *Lowering::move_bits(llvm::Value *bits, const std::vector<uint32_t> &images) {
  llvm::Value *sum = nullptr;
  for (size_t i = 0; i < images.size();) {
    if (!images[i]) {
      i++;
      continue;
    }
    size_t end = i + 1;
    bool single = !(images[i] & (images[i] - 1));
    while (single && end < images.size() && images[end] == images[end - 1] << 1)
      end++;
    llvm::Value *part = builder_.CreateLShr(bits, uint64_t(i));
    part = builder_.CreateAnd(part, (uint64_t(1) << (end - i)) - 1);
    part = builder_.CreateMul(part, builder_.getInt32(images[i]), "", true, true);
    sum = sum ? builder_.CreateXor(sum, part) : part;
    i = end;
  }
  return sum ? sum : builder_.getInt32(0);
}

std::vector<llvm::Value *> Lowering::thread_coordinates(const LinearLayout &layout) {
  std::vector<llvm::Value *> coordinates;
  for (size_t axis = 0; axis < layout.shape.size(); axis++) {
    std::vector<uint32_t> lanes, warps;
    for (FlatIndex basis : layout.lane)
      lanes.push_back(uint32_t(unflatten(layout.shape, basis)[axis]));
    for (FlatIndex basis : layout.warp)
      warps.push_back(uint32_t(unflatten(layout.shape, basis)[axis]));
    llvm::Value *of_lane = move_bits(lane(), lanes);
    coordinates.push_back(builder_.CreateXor(of_lane, move_bits(warp(), warps)));
  }
  return coordinates;
}

LinearLayout Lowering::layout_of_scalar() const {
  LinearLayout layout{{}, {}, {0, 0, 0, 0, 0}, {}, {}};
  for (int warps = 1; warps < fn_.warps; warps *= 2)
    layout.warp.push_back(0);
  return layout;
}

llvm::Value *Lowering::holds_first_copy(const LinearLayout &layout) {
  auto unused = [](const std::vector<FlatIndex> &bases) {
    uint64_t bits = 0;
    for (size_t i = 0; i < bases.size(); i++)
      bits |= uint64_t(bases[i] == 0) << i;
    return bits;
  };
  uint64_t lanes = unused(layout.lane), warps = unused(layout.warp);
  if (!lanes && !warps)
    return nullptr;
  llvm::Value *copies = builder_.CreateAnd(lane(), lanes);
  copies = builder_.CreateOr(copies, builder_.CreateAnd(warp(), warps));
  return builder_.CreateICmpEQ(copies, builder_.getInt32(0));
}

void Lowering::guarded(llvm::Value *condition, const std::function<void()> &body) {
  if (!condition)
    return body();
  auto *inside = llvm::BasicBlock::Create(context_, "guarded", function_);
  auto *after = llvm::BasicBlock::Create(context_, "guarded.end", function_);
  builder_.CreateCondBr(condition, inside, after);
  builder_.SetInsertPoint(inside);
  body();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

void Lowering::branched(llvm::Value *condition, const std::function<void()> &body,
                        const std::function<void()> &otherwise) {
  auto *first = llvm::BasicBlock::Create(context_, "branched", function_);
  auto *second = llvm::BasicBlock::Create(context_, "branched.else", function_);
  auto *after = llvm::BasicBlock::Create(context_, "branched.end", function_);
  builder_.CreateCondBr(condition, first, second);
  builder_.SetInsertPoint(first);
  body();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(second);
  otherwise();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

llvm::Value *Lowering::either(llvm::Value *condition, const std::function<llvm::Value *()> &first,
                              const std::function<llvm::Value *()> &otherwise) {
  llvm::Value *values[2];
  llvm::BasicBlock *ends[2];
  auto note = [&](int i, const std::function<llvm::Value *()> &body) {
    values[i] = body();
    ends[i] = builder_.GetInsertBlock();
  };
  branched(condition, [&] { note(0, first); }, [&] { note(1, otherwise); });
  llvm::PHINode *phi = builder_.CreatePHI(values[0]->getType(), 2);
  for (int i : {0, 1})
    phi->addIncoming(values[i], ends[i]);
  return phi;
}

} // namespace tritonc
