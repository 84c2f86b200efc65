// Lowering: accesses to shared memory.
//
// How wide a load or store is follows from the layouts: the register bits whose contribution to the
// address are 1, 2, 4... elements form a vector. A load is done by ldmatrix where the layout is
// that of its result: lane l holds the 32-bit word l of 8 rows of 16 bytes (or, transposing, of 8
// columns of 16-bit elements). A store of 16-bit elements is done by stmatrix in the same case.

#include "lower/addresses.h"

#include <algorithm>
#include <numeric>

namespace tritonc {

using namespace ir;

namespace {

constexpr uint32_t row_bytes = 16; // of a matrix of ldmatrix, and the widest vector

bool whole_rows(uint32_t image) { return image % row_bytes == 0; }
bool whole_rows(const std::vector<uint32_t> &images, size_t from = 0) {
  return std::all_of(images.begin() + from, images.end(), [](uint32_t i) { return whole_rows(i); });
}

// How ldmatrix fetches a tile, and stmatrix puts it back: what lanes 0 to 7 address (the rows of a
// matrix), and which register bits choose between matrices.
struct MatrixAccess {
  bool trans;
  size_t packed;                   // register bits inside a 32-bit word: the lowest
  std::vector<uint32_t> rows;      // images of the lowest three bits of the lane
  std::vector<size_t> matrix_bits; // register bits

  /// The register bits that choose between the matrices of one instruction, of which there are at
  /// most four.
  std::vector<size_t> chosen() const {
    return {matrix_bits.begin(),
            matrix_bits.begin() + std::min<ptrdiff_t>(2, ptrdiff_t(matrix_bits.size()))};
  }

  /// What the bits of a lane address.
  std::vector<uint32_t> addressed(const std::vector<uint32_t> &register_images) const {
    std::vector<uint32_t> images = rows;
    for (size_t bit : chosen())
      images.push_back(register_images[bit]);
    return images;
  }
};

std::optional<MatrixAccess> matrix_access(const std::vector<uint32_t> &reg,
                                          const std::vector<uint32_t> &lane,
                                          const std::vector<uint32_t> &warp, int element_bytes) {
  if (element_bytes > 4)
    return std::nullopt;
  size_t packed = size_t(log2_exact(4 / element_bytes));
  if (reg.size() < packed || !whole_rows(warp) || !whole_rows(reg, packed))
    return std::nullopt;
  MatrixAccess load{.trans = false, .packed = packed, .rows = {}, .matrix_bits = {}};
  for (size_t bit = packed; bit < reg.size(); bit++)
    load.matrix_bits.push_back(bit);
  bool plain = lane[0] == 4 && lane[1] == 8 && whole_rows(lane, 2);
  for (size_t bit = 0; bit < packed; bit++)
    plain = plain && reg[bit] == uint32_t(element_bytes) << bit;
  if (plain) {
    load.rows = {lane[2], lane[3], lane[4]};
    return load;
  }
  bool trans = element_bytes == 2 && lane[2] == 2 && lane[3] == 4 && lane[4] == 8 &&
               whole_rows(reg[0]) && whole_rows(lane[0]) && whole_rows(lane[1]);
  if (!trans)
    return std::nullopt;
  load.trans = true;
  load.rows = {reg[0], lane[0], lane[1]};
  return load;
}

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

// The register bits that one vector spans, in the order of the addresses.
std::vector<size_t> vector_bits(const std::vector<uint32_t> &reg, const std::vector<uint32_t> &lane,
                                const std::vector<uint32_t> &warp, uint32_t element_bytes) {
  std::vector<size_t> bits;
  for (uint32_t width = element_bytes; width < row_bytes; width *= 2) {
    auto found = std::find(reg.begin(), reg.end(), width);
    auto interferes = [&](uint32_t image) { return image & width; };
    bool others = std::any_of(lane.begin(), lane.end(), interferes) ||
                  std::any_of(warp.begin(), warp.end(), interferes) ||
                  std::count_if(reg.begin(), reg.end(), interferes) > 1;
    if (found == reg.end() || others)
      break;
    bits.push_back(size_t(found - reg.begin()));
  }
  return bits;
}

// The register number whose bits `bits[i]` are those of `number`.
uint32_t spread(const std::vector<size_t> &bits, uint32_t number) {
  uint32_t result = 0;
  for (size_t i = 0; i < bits.size(); i++)
    result |= (number >> i & 1) << bits[i];
  return result;
}

// Calls `visit` with every register number that has none of `bits` set.
template <typename Visit>
void for_each_vector(int registers, const std::vector<size_t> &bits, Visit visit) {
  uint32_t inside = spread(bits, ~0u);
  for (uint32_t r = 0; r < uint32_t(registers); r++)
    if (!(r & inside))
      visit(r);
}

} // namespace

// The counter counts up from 0, and nobody asks for what was before.
llvm::Value *Lowering::ring_position(const Op &op) {
  return builder_.CreateNSWAdd(scalar(op.operand(0)),
                               builder_.getInt32(uint32_t(op.integer("ahead"))));
}

void Lowering::lower_ring_slot(const Op &op) {
  int64_t count = op.integer("slots"), ahead = (op.integer("ahead") % count + count) % count;
  llvm::Value *slots = builder_.getInt32(uint32_t(count));
  auto turn = turns_.find({op.operand(0), count});
  if (turn == turns_.end())
    return define(op.result(), {builder_.CreateURem(ring_position(op), slots)});
  if (ahead == 0)
    return define(op.result(), {turn->second});
  llvm::Value *slot = builder_.CreateNUWAdd(turn->second, builder_.getInt32(uint32_t(ahead)));
  llvm::Value *is_over = builder_.CreateICmpUGE(slot, slots);
  define(op.result(), {builder_.CreateSelect(is_over, builder_.CreateSub(slot, slots), slot)});
}

void Lowering::lower_ring_phase(const Op &op) {
  llvm::Value *slots = builder_.getInt32(uint32_t(op.integer("slots")));
  define(op.result(), {builder_.CreateAnd(builder_.CreateUDiv(ring_position(op), slots), 1)});
}

llvm::Value *Lowering::slot_address(const Value *buffer, const Value *slot) {
  const Type &type = buffer->type;
  llvm::Value *address =
      builder_.CreatePtrToInt(module_.getGlobalVariable("tritonc_shared"), builder_.getInt32Ty());
  address =
      builder_.CreateAdd(address, builder_.getInt32(uint32_t(buffer->op->integer("address"))));
  if (buffer->op->has("team_bytes"))
    address = builder_.CreateAdd(
        address,
        builder_.CreateMul(team_, builder_.getInt32(uint32_t(buffer->op->integer("team_bytes")))));
  uint32_t slot_bytes = uint32_t(type.elements() / type.shape[0] * bytes_of(type.elem));
  return builder_.CreateAdd(address,
                            builder_.CreateMul(scalar(slot), builder_.getInt32(slot_bytes)));
}

template <typename Access>
void Lowering::store_matrices(const Op &op, SharedAddresses &addresses, const Access &matrices) {
  const Registers &elements = registers(op.operand(0));
  std::vector<size_t> chosen = matrices.chosen(), inside = {0}; // the other half of a word
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
    SharedAddresses addresses(*this, op.operand(1), op.operand(2), layout, {}, op.list("origin"));
    uint32_t bytes = uint32_t(bytes_of(value->type.elem));
    std::optional<MatrixAccess> matrices;
    // All lanes of a warp execute stmatrix, so none may be left out as one that has a copy.
    bool by_all_lanes = std::find(layout.lane.begin(), layout.lane.end(), 0u) == layout.lane.end();
    if (gpu_.has_stmatrix && bytes == 2 && by_all_lanes)
      matrices = matrix_access(addresses.register_images(), addresses.lane_images(),
                               addresses.warp_images(), int(bytes));
    if (matrices)
      return store_matrices(op, addresses, *matrices);
    std::vector<size_t> bits = vector_bits(addresses.register_images(), addresses.lane_images(),
                                           addresses.warp_images(), bytes);
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
  SharedAddresses addresses(*this, op.operand(0), op.operand(1), layout, op.list("perm"),
                            op.list("origin"));
  if (op.has("one_address"))
    addresses.compute_from_one();
  Registers result(size_t(layout.registers()));

  std::optional<MatrixAccess> matrices;
  if (gpu_.has_ldmatrix)
    matrices = matrix_access(addresses.register_images(), addresses.lane_images(),
                             addresses.warp_images(), int(bytes));
  if (matrices) {
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

  std::vector<size_t> bits = vector_bits(addresses.register_images(), addresses.lane_images(),
                                         addresses.warp_images(), bytes);
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

void Lowering::lower_async_copy(const Op &op) {
  const Value *view = op.operand(0), *mask = op.operand_or_null(4);
  const LinearLayout &layout = *view->type.layout;
  uint32_t width = uint32_t(op.integer("vector"));
  uint32_t bytes = width * uint32_t(bytes_of(view->type.elem));
  TargetOp copy = bytes == 16  ? TargetOp::cp_async_16
                  : bytes == 8 ? TargetOp::cp_async_8
                               : TargetOp::cp_async_4;
  guarded(holds_first_copy(layout), [&] {
    GlobalAddresses from(*this, view, layout);
    SharedAddresses to(*this, op.operand(1), op.operand(2), layout);
    for (const std::vector<int> &group : register_groups(layout, int(width), vector_axis(view))) {
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
