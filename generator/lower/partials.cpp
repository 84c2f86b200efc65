// Lowers partial sums that a block leaves to another block (stream-K).
//
// The blocks have the same layout, so each thread reads what the same thread of the other block has
// stored. Vectors of 16 bytes of the threads of a warp follow one another.
//
// Tested by tests/unit/lower/partials_test.cpp.

#include "lower/lowering.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

// Calls `visit(address, type, first)` for each vector of a thread, from register `first` on.
template <typename Visit> void Lowering::for_each_vector_of_partial(const Op &op, Visit visit) {
  constexpr int64_t vector_bytes = 16;
  const Type &tile = op.operand(1)->type;
  const auto count = int64_t(registers(op.operand(1)).size());
  const int64_t width = std::min(count, vector_bytes / bytes_of(tile.elem));
  llvm::Type *type = llvm::FixedVectorType::get(type_of(tile.elem), unsigned(width));
  llvm::Value *thread =
      builder_.CreateAdd(builder_.CreateMul(warp(), builder_.getInt32(32)), lane());
  llvm::Value *first = builder_.CreateGEP(type, scalar(op.operand(0)), thread);
  for (int64_t r = 0; r < count; r += width) {
    const int64_t vectors_before = r / width * 32 * fn_.warps;
    visit(builder_.CreateGEP(type, first, builder_.getInt64(uint64_t(vectors_before))), type,
          size_t(r));
  }
}

void Lowering::lower_store_partial(const Op &op) {
  const Registers &elements = registers(op.operand(1));
  for_each_vector_of_partial(op, [&](llvm::Value *address, llvm::Type *type, size_t first) {
    llvm::Value *vector = llvm::PoisonValue::get(type);
    const unsigned width = llvm::cast<llvm::FixedVectorType>(type)->getNumElements();
    for (unsigned i = 0; i < width; i++)
      vector = builder_.CreateInsertElement(vector, elements[first + i], uint64_t(i));
    builder_.CreateStore(vector, address);
  });
}

void Lowering::lower_add_partial(const Op &op) {
  Registers sums = registers(op.operand(1));
  const bool is_fp = is_float(op.result()->type.elem);
  for_each_vector_of_partial(op, [&](llvm::Value *address, llvm::Type *type, size_t first) {
    llvm::Value *vector = builder_.CreateLoad(type, address);
    const unsigned width = llvm::cast<llvm::FixedVectorType>(type)->getNumElements();
    for (unsigned i = 0; i < width; i++) {
      llvm::Value *&sum = sums[first + i],
                  *more = builder_.CreateExtractElement(vector, uint64_t(i));
      sum = is_fp ? builder_.CreateFAdd(sum, more) : builder_.CreateAdd(sum, more);
    }
  });
  define(op.result(), std::move(sums));
}

} // namespace tritonc
