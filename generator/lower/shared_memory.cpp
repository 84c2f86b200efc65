// Lowers accesses to shared memory.
//
// The layouts determine the width of a load or store, and whether ldmatrix or stmatrix does it. See
// analysis/shared_access.h.
//
// Tested by tests/unit/lower/shared_memory_test.cpp and tests/unit/lower/scan_test.cpp.

#include "analysis/shared_access.h"
#include "lower/addresses.h"

#include <algorithm>
#include <numeric>

namespace tritonc {

using namespace ir;

namespace {

TargetOp ldmatrix(size_t matrix_bits, bool trans) {
  constexpr TargetOp ops[2][3] = {
      {TargetOp::ldmatrix_x1, TargetOp::ldmatrix_x2, TargetOp::ldmatrix_x4},
      {TargetOp::ldmatrix_x1_trans, TargetOp::ldmatrix_x2_trans, TargetOp::ldmatrix_x4_trans}};
  return ops[trans][matrix_bits];
}

TargetOp stmatrix(size_t matrix_bits, bool trans) {
  constexpr TargetOp ops[2][3] = {
      {TargetOp::stmatrix_x1, TargetOp::stmatrix_x2, TargetOp::stmatrix_x4},
      {TargetOp::stmatrix_x1_trans, TargetOp::stmatrix_x2_trans, TargetOp::stmatrix_x4_trans}};
  return ops[trans][matrix_bits];
}

// Moves bit i of `number` to bit `bits[i]`.
uint32_t spread(const std::vector<size_t> &bits, uint32_t number) {
  uint32_t result = 0;
  for (size_t i = 0; i < bits.size(); i++)
    result |= (number >> i & 1) << bits[i];
  return result;
}

// Calls `visit` with every register number that has no bit of `bits` set.
template <typename Visit>
void for_each_vector(int registers, const std::vector<size_t> &bits, Visit visit) {
  uint32_t inside = spread(bits, ~0u);
  for (uint32_t r = 0; r < uint32_t(registers); r++)
    if (!(r & inside))
      visit(r);
}

} // namespace

// The counter starts at 0 and increases; no operation uses an earlier stage.
llvm::Value *Lowering::stage_counter(const Op &op) {
  return builder_.CreateNSWAdd(scalar(op.operand(0)),
                               builder_.getInt32(uint32_t(op.get(attr::offset_))));
}

void Lowering::lower_stage_index(const Op &op) {
  int64_t count = op.get(attr::stages_), ahead = (op.get(attr::offset_) % count + count) % count;
  llvm::Value *stages = builder_.getInt32(uint32_t(count));
  auto turn = turns_.find({op.operand(0), count});
  if (turn == turns_.end())
    return define(op.result(), {builder_.CreateURem(stage_counter(op), stages)});
  if (ahead == 0)
    return define(op.result(), {turn->second});
  llvm::Value *stage = builder_.CreateNUWAdd(turn->second, builder_.getInt32(uint32_t(ahead)));
  llvm::Value *is_over = builder_.CreateICmpUGE(stage, stages);
  define(op.result(), {builder_.CreateSelect(is_over, builder_.CreateSub(stage, stages), stage)});
}

void Lowering::lower_stage_phase(const Op &op) {
  llvm::Value *stages = builder_.getInt32(uint32_t(op.get(attr::stages_)));
  define(op.result(), {builder_.CreateAnd(builder_.CreateUDiv(stage_counter(op), stages), 1)});
}

llvm::Value *Lowering::stage_address(const Value *buffer, const Value *stage) {
  const Type &type = buffer->type;
  llvm::Value *address =
      builder_.CreatePtrToInt(module_.getGlobalVariable("tritonc_shared"), builder_.getInt32Ty());
  address =
      builder_.CreateAdd(address, builder_.getInt32(uint32_t(buffer->op->get(attr::address_))));
  if (program_of_block_)
    address = builder_.CreateAdd(
        address,
        builder_.CreateMul(program_of_block_, builder_.getInt32(uint32_t(fn_.shared_bytes))));
  if (buffer->op->has(attr::consumer_group_bytes_))
    address = builder_.CreateAdd(
        address, builder_.CreateMul(consumer_group_, builder_.getInt32(uint32_t(buffer->op->get(
                                                         attr::consumer_group_bytes_)))));
  uint32_t stage_bytes = uint32_t(type.elements() / type.shape[0] * bytes_of(type.elem));
  return builder_.CreateAdd(address,
                            builder_.CreateMul(scalar(stage), builder_.getInt32(stage_bytes)));
}

template <typename Access>
void Lowering::store_matrices(const Op &op, SharedAddresses &addresses, const Access &matrices) {
  const Registers &elements = registers(op.operand(0));
  std::vector<size_t> chosen = matrices.chosen(), inside = {0}; // bit 0: the half of a word
  inside.insert(inside.end(), chosen.begin(), chosen.end());
  addresses.set_lane_images(matrices.addressed(addresses.register_images()));
  llvm::Type *pair = llvm::FixedVectorType::get(elements[0]->getType(), 2);
  auto word = [&](uint32_t r) {
    llvm::Value *halves = llvm::PoisonValue::get(pair);
    for (uint32_t half : {0, 1})
      halves = builder_.CreateInsertElement(halves, elements[r | half], uint64_t(half));
    return builder_.CreateBitCast(halves, builder_.getInt32Ty());
  };
  for_each_vector(int(elements.size()), inside, [&](uint32_t first) {
    llvm::Value *words = nullptr;
    if (chosen.empty()) {
      words = word(first);
    } else {
      unsigned count = 1u << chosen.size();
      words = llvm::PoisonValue::get(llvm::FixedVectorType::get(builder_.getInt32Ty(), count));
      for (uint32_t i = 0; i < count; i++)
        words = builder_.CreateInsertElement(words, word(first | spread(chosen, i)), uint64_t(i));
    }
    call_target_op(builder_, stmatrix(chosen.size(), matrices.trans),
                   {addresses.at(addresses.constant(first)), words});
  });
}

void Lowering::lower_shared_store(const Op &op) {
  const Value *value = op.operand(0);
  const LinearLayout &layout = *value->type.layout;
  llvm::Type *element = type_of(value->type.elem);
  guarded(holds_first_copy(layout), [&] {
    SharedAddresses addresses(*this, op.operand(1), op.operand(2), layout, {},
                              op.get(attr::origin_));
    uint32_t bytes = uint32_t(bytes_of(value->type.elem));
    if (std::optional<MatrixAccess> matrices = matrix_access(op, gpu_.has_stmatrix))
      return store_matrices(op, addresses, *matrices);
    std::vector<size_t> bits = vector_bits(shared_images(op), bytes);
    uint32_t width = 1u << bits.size();
    for_each_vector(layout.registers(), bits, [&](uint32_t first) {
      llvm::Value *packed = llvm::PoisonValue::get(llvm::FixedVectorType::get(element, width));
      for (uint32_t i = 0; i < width; i++)
        packed = builder_.CreateInsertElement(packed, registers(value)[first | spread(bits, i)],
                                              uint64_t(i));
      llvm::Value *address =
          builder_.CreateIntToPtr(addresses.at(addresses.constant(first)), builder_.getPtrTy(3));
      builder_.CreateAlignedStore(packed, address, llvm::Align(width * bytes));
    });
  });
}

void Lowering::lower_shared_load(const Op &op) {
  const Type &type = op.result()->type;
  const LinearLayout &layout = *type.layout;
  llvm::Type *element = type_of(type.elem);
  uint32_t bytes = uint32_t(bytes_of(type.elem));
  SharedAddresses addresses(*this, op.operand(0), op.operand(1), layout, op.get(attr::perm_),
                            op.get(attr::origin_));
  if (op.has(attr::strided_access_))
    addresses.compute_from_one();
  Registers result(size_t(layout.registers()));

  if (std::optional<MatrixAccess> matrices = matrix_access(op, gpu_.has_ldmatrix)) {
    std::vector<size_t> chosen = matrices->chosen();
    addresses.set_lane_images(matrices->addressed(addresses.register_images()));
    std::vector<size_t> inside(matrices->packed);
    std::iota(inside.begin(), inside.end(), 0);
    inside.insert(inside.end(), chosen.begin(), chosen.end());
    TargetOp load = ldmatrix(chosen.size(), matrices->trans);
    uint32_t in_a_word = 1u << matrices->packed;
    for_each_vector(layout.registers(), inside, [&](uint32_t first) {
      llvm::Value *words =
          call_target_op(builder_, load, {addresses.at(addresses.constant(first))});
      for (uint32_t matrix = 0; matrix < 1u << chosen.size(); matrix++) {
        llvm::Value *word =
            chosen.empty() ? words : builder_.CreateExtractElement(words, uint64_t(matrix));
        uint32_t r = first | spread(chosen, matrix);
        if (in_a_word == 1) {
          result[r] = builder_.CreateBitCast(word, element);
          continue;
        }
        llvm::Value *parts =
            builder_.CreateBitCast(word, llvm::FixedVectorType::get(element, in_a_word));
        for (uint32_t i = 0; i < in_a_word; i++)
          result[r | i] = builder_.CreateExtractElement(parts, uint64_t(i));
      }
    });
    return define(op.result(), std::move(result));
  }

  std::vector<size_t> bits = vector_bits(shared_images(op), bytes);
  uint32_t width = 1u << bits.size();
  for_each_vector(layout.registers(), bits, [&](uint32_t first) {
    llvm::Value *address =
        builder_.CreateIntToPtr(addresses.at(addresses.constant(first)), builder_.getPtrTy(3));
    llvm::Align alignment(width * bytes);
    if (width == 1) {
      result[first] = builder_.CreateAlignedLoad(element, address, alignment);
      return;
    }
    llvm::Value *loaded =
        builder_.CreateAlignedLoad(llvm::FixedVectorType::get(element, width), address, alignment);
    for (uint32_t i = 0; i < width; i++)
      result[first | spread(bits, i)] = builder_.CreateExtractElement(loaded, uint64_t(i));
  });
  define(op.result(), std::move(result));
}

// The buffer is row-major, so each index adds a multiple of the stride to the address. An index
// counts modulo the extent, so no access is outside the buffer.
void Lowering::lower_shared_gather(const Op &op) {
  const Type &type = op.result()->type;
  size_t axis = size_t(op.get(attr::axis_));
  Shape stage = op.operand(0)->type.layout->shape;
  LinearLayout others = *type.layout; // indices of the thread's elements, with 0 along the axis
  others.shape = stage;
  for (auto *bases : {&others.reg, &others.lane, &others.warp})
    for (FlatIndex &basis : *bases) {
      std::vector<int64_t> coordinates = unflatten(type.shape, basis);
      coordinates[axis] = 0;
      basis = flatten(stage, coordinates);
    }
  SharedAddresses addresses(*this, op.operand(0), op.operand(1), others);
  uint32_t bytes = uint32_t(bytes_of(type.elem));
  uint32_t stride = bytes << axis_shift(stage, int(axis));
  Registers result;
  for (uint32_t r = 0; r < uint32_t(type.layout->registers()); r++) {
    llvm::Value *position =
        builder_.CreateZExtOrTrunc(registers(op.operand(2))[r], builder_.getInt32Ty());
    position = builder_.CreateAnd(position, uint64_t(stage[axis] - 1));
    llvm::Value *part = builder_.CreateMul(position, builder_.getInt32(stride), "", true, true);
    llvm::Value *address = builder_.CreateAdd(addresses.at(addresses.constant(r)), part);
    result.push_back(builder_.CreateAlignedLoad(
        type_of(type.elem), builder_.CreateIntToPtr(address, builder_.getPtrTy(3)),
        llvm::Align(bytes)));
  }
  define(op.result(), std::move(result));
}

// Calls `visit(r, address, on)` for each register of a tile of rows that follow one another in
// `buffer`, the first operand of four: the stage, the length of a row, the first element. `on` has
// the form of a mask i < length, so the kernel computes it once; null: all elements exist.
template <typename Visit>
void Lowering::for_each_row_element(const Op &op, size_t buffer, const LinearLayout &layout,
                                    Visit visit) {
  llvm::Value *length = scalar(op.operand(buffer + 2)), *first = scalar(op.operand(buffer + 3));
  const uint32_t bytes = uint32_t(bytes_of(op.operand(buffer)->type.elem));
  const int64_t origin = op.has(attr::origin_) ? op.get(attr::origin_)[1] : 0;
  std::vector<llvm::Value *> thread = thread_coordinates(layout);
  llvm::Value *at = builder_.CreateAdd(builder_.CreateMul(thread[0], length), thread[1]);
  at = builder_.CreateMul(builder_.CreateAdd(at, first), builder_.getInt32(bytes));
  llvm::Value *start =
      builder_.CreateAdd(stage_address(op.operand(buffer), op.operand(buffer + 1)), at);
  for (uint32_t r = 0; r < uint32_t(layout.registers()); r++) {
    std::vector<int64_t> place = unflatten(layout.shape, layout.index(r, 0, 0));
    place[1] += origin;
    llvm::Value *row = builder_.CreateMul(length, builder_.getInt32(uint32_t(place[0]) * bytes));
    llvm::Value *address = builder_.CreateAdd(builder_.CreateAdd(start, row),
                                              builder_.getInt32(uint32_t(place[1]) * bytes));
    llvm::Value *column =
        builder_.CreateAdd(thread[1], builder_.getInt32(uint32_t(place[1])), "", false, true);
    llvm::Value *on = op.has(attr::whole_) ? nullptr : builder_.CreateICmpSLT(column, length);
    visit(r, builder_.CreateIntToPtr(address, builder_.getPtrTy(3)), on);
  }
}

void Lowering::lower_shared_load_rows(const Op &op) {
  llvm::Type *element = type_of(op.result()->type.elem);
  llvm::Value *zero = llvm::Constant::getNullValue(element);
  Registers result;
  for_each_row_element(op, 0, *op.result()->type.layout,
                       [&](uint32_t, llvm::Value *address, llvm::Value *on) {
                         result.push_back(on ? load_masked(element, address, on, zero)
                                             : builder_.CreateLoad(element, address));
                       });
  define(op.result(), std::move(result));
}

void Lowering::lower_shared_store_rows(const Op &op) {
  const LinearLayout &layout = *op.operand(0)->type.layout;
  guarded(holds_first_copy(layout), [&] {
    for_each_row_element(op, 1, layout, [&](uint32_t r, llvm::Value *address, llvm::Value *on) {
      guarded(on, [&] { builder_.CreateStore(registers(op.operand(0))[r], address); });
    });
  });
}

void Lowering::lower_async_copy(const Op &op) {
  const Value *view = op.operand(0), *mask = op.operand_or_null(4);
  const LinearLayout &layout = *view->type.layout;
  uint32_t width = uint32_t(op.get(attr::vector_));
  uint32_t bytes = width * uint32_t(bytes_of(view->type.elem));
  TargetOp copy = bytes == 16  ? TargetOp::cp_async_16
                  : bytes == 8 ? TargetOp::cp_async_8
                               : TargetOp::cp_async_4;
  guarded(holds_first_copy(layout), [&] {
    GlobalAddresses from(*this, view, layout);
    SharedAddresses to(*this, op.operand(1), op.operand(2), layout);
    for (const std::vector<int> &group : register_groups(layout, int(width), vector_axis(op))) {
      llvm::Value *on = scalar(op.operand(3));
      if (mask)
        on = builder_.CreateAnd(on, registers(mask)[mask->type.is_scalar() ? 0 : size_t(group[0])]);
      // A copy of 0 bytes reads nothing and fills with zeros.
      llvm::Value *size = builder_.CreateSelect(on, builder_.getInt32(bytes), builder_.getInt32(0));
      call_target_op(builder_, copy,
                     {to.at(to.constant(uint32_t(group[0]))), from[group[0]], size});
    }
  });
}

} // namespace tritonc
