// Lowers ranges, bounds, and operations that only reorder or repeat elements. Reordering needs no
// instructions: a register of the result is a register of the operand.
//
// Tested by tests/unit/lower/shape_test.cpp.

#include "lower/addresses.h"

namespace tritonc {

using namespace ir;

void Lowering::lower_range(const Op &op) {
  const LinearLayout &layout = *op.result()->type.layout;
  int64_t first = op.get(attr::start_);
  llvm::Value *start = thread_coordinates(layout)[0];
  start = builder_.CreateAdd(start, builder_.getInt32(uint32_t(first)), "", /*HasNUW=*/first >= 0,
                             /*HasNSW=*/true);
  Registers result;
  for (int r = 0; r < layout.registers(); r++)
    result.push_back(builder_.CreateAdd(start, builder_.getInt32(layout.index(uint32_t(r), 0, 0)),
                                        "", false, true));
  define(op.result(), std::move(result));
}

// Computes once per thread how many elements are left from the thread's first index on. Then each
// element needs one comparison with a constant.
void Lowering::lower_in_bounds(const Op &op) {
  const LinearLayout &layout = *op.result()->type.layout;
  std::vector<llvm::Value *> start = thread_coordinates(layout), left(start.size());
  for (size_t d = 0; d < left.size(); d++) {
    auto extent = builder_.getInt64(uint64_t(layout.shape[d]));
    std::optional<int64_t> known = constant_of(op.operand(d));
    if (known && *known >= layout.shape[d])
      continue; // all elements are inside
    llvm::Value *limit = builder_.CreateBinaryIntrinsic(
        llvm::Intrinsic::smax, scalar(op.operand(d)), builder_.getInt64(0));
    limit = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, limit, extent);
    left[d] = builder_.CreateNSWSub(builder_.CreateTrunc(limit, builder_.getInt32Ty()), start[d]);
  }
  Registers result;
  for (int r = 0; r < layout.registers(); r++) {
    std::vector<int64_t> at = unflatten(layout.shape, layout.index(uint32_t(r), 0, 0));
    llvm::Value *on = nullptr;
    for (size_t d = 0; d < left.size(); d++) {
      if (!left[d])
        continue;
      llvm::Value *here = builder_.CreateICmpSGT(left[d], builder_.getInt32(uint32_t(at[d])));
      on = on ? builder_.CreateAnd(on, here) : here;
    }
    result.push_back(on ? on : builder_.getTrue());
  }
  define(op.result(), std::move(result));
}

namespace {

// The flat index in the operand of element `index` of the result.
FlatIndex source_index(const Op &op, FlatIndex index) {
  const Shape &from = op.operand(0)->type.shape, &to = op.result()->type.shape;
  switch (op.code) {
  case Opcode::broadcast_: {
    std::vector<int64_t> coordinates = unflatten(to, index);
    for (size_t d = 0; d < from.size(); d++)
      if (from[d] == 1)
        coordinates[d] = 0;
    return flatten(from, coordinates);
  }
  case Opcode::trans_: {
    std::vector<int64_t> coordinates = unflatten(to, index), moved(from.size());
    std::vector<int64_t> perm = op.get(attr::perm_);
    for (size_t d = 0; d < perm.size(); d++)
      moved[perm[d]] = coordinates[d];
    return flatten(from, moved);
  }
  case Opcode::extract_: {
    std::vector<int64_t> coordinates = unflatten(to, index), origin = op.get(attr::origin_);
    for (size_t d = 0; d < origin.size(); d++)
      coordinates[d] += origin[d];
    return flatten(from, coordinates);
  }
  default: // expand and reshape keep the row-major order
    return index;
  }
}

} // namespace

void Lowering::lower_shape(const Op &op) {
  const LinearLayout &layout = *op.result()->type.layout;
  Registers result;
  if (op.is(Opcode::splat_)) {
    result.assign(size_t(layout.registers()), scalar(op.operand(0)));
    return define(op.result(), std::move(result));
  }
  const Registers &from = registers(op.operand(0));
  std::map<FlatIndex, int> places = registers_by_index(*op.operand(0)->type.layout);
  for (int r = 0; r < layout.registers(); r++)
    result.push_back(from[size_t(places.at(source_index(op, layout.index(uint32_t(r), 0, 0))))]);
  define(op.result(), std::move(result));
}

// A thread holds whole groups. A group is a sequence of 32-bit words.
void Lowering::lower_funnel_shift(const Op &op) {
  const LinearLayout &layout = *op.result()->type.layout;
  const int64_t bits = bits_of(op.result()->type.elem), vector = op.get(attr::vector_);
  const unsigned words = unsigned(vector * bits / 32);
  auto *type = llvm::FixedVectorType::get(type_of(op.result()->type.elem), unsigned(vector));
  auto *words_type = llvm::FixedVectorType::get(builder_.getInt32Ty(), words);
  llvm::Value *distance =
      builder_.CreateMul(scalar(op.operand(2)), builder_.getInt32(uint32_t(bits)));
  llvm::Value *whole = builder_.CreateLShr(distance, 5), *rest = builder_.CreateAnd(distance, 31);

  Registers result(size_t(layout.registers()));
  for (const std::vector<int> &group : register_groups(layout, int(vector), 0)) {
    std::vector<llvm::Value *> pair;
    for (int side : {0, 1}) {
      llvm::Value *packed = llvm::PoisonValue::get(type);
      for (size_t i = 0; i < group.size(); i++)
        packed = builder_.CreateInsertElement(
            packed, registers(op.operand(size_t(side)))[size_t(group[i])], i);
      packed = builder_.CreateBitCast(packed, words_type);
      for (uint64_t word = 0; word < words; word++)
        pair.push_back(builder_.CreateExtractElement(packed, word));
    }
    for (unsigned step = words / 2; step; step /= 2) {
      llvm::Value *moves = builder_.CreateIsNotNull(builder_.CreateAnd(whole, step));
      for (size_t word = 0; word + step < pair.size(); word++)
        pair[word] = builder_.CreateSelect(moves, pair[word + step], pair[word]);
    }
    llvm::Value *shifted = llvm::PoisonValue::get(words_type);
    for (uint64_t word = 0; word < words; word++)
      shifted = builder_.CreateInsertElement(
          shifted,
          builder_.CreateIntrinsic(llvm::Intrinsic::fshr, {builder_.getInt32Ty()},
                                   {pair[word + 1], pair[word], rest}),
          word);
    shifted = builder_.CreateBitCast(shifted, type);
    for (size_t i = 0; i < group.size(); i++)
      result[size_t(group[i])] = builder_.CreateExtractElement(shifted, i);
  }
  define(op.result(), std::move(result));
}

} // namespace tritonc
