// Lowers matmuls by wgmma.
//
// A warpgroup multiplies 64 rows at a time. A descriptor for each operand in shared memory has the
// start address, and the strides between its core matrices of 8 x 16 bytes (PTX ISA, "Matrix
// descriptor format"). The buffer's layout, panel_layout in analysis/layouts.h, gives the
// arrangement in memory. The left operand can be in registers instead: four words per thread, as in
// fragment_layout.
//
// Tested by tests/unit/lower/wgmma_test.cpp.

#include "lower/lowering.h"

#include "analysis/layouts.h"

namespace tritonc {

using namespace ir;

namespace {

// An operand in shared memory. Its axes are K and its own axis (M or N).
struct SharedOperand {
  Shape shape; // of one stage
  const LinearLayout &layout;
  size_t own, k; // axes of the stage
  int element_bytes;

  /// Whether the operand is contiguous along its own axis, not along K.
  bool is_transposed() const {
    return layout.offset[0] == FlatIndex(1) << axis_shift(shape, int(own));
  }

  /// Bytes from the start of the stage to an element.
  uint32_t offset(int64_t at_own, int64_t at_k) const {
    std::vector<int64_t> at(2);
    at[own] = at_own;
    at[k] = at_k;
    return layout.offset_of(flatten(shape, at)) * uint32_t(element_bytes);
  }

  /// The address contribution of each bit of the warpgroup index. A part has `part` rows (operand
  /// 0) or columns (operand 1).
  std::vector<uint32_t> parts(int number, int64_t part,
                              const std::vector<int64_t> &warpgroups) const {
    std::vector<uint32_t> images(size_t(number ? log2_exact(warpgroups[0]) : 0), 0);
    for (int bit = 0; bit < log2_exact(warpgroups[size_t(number)]); bit++)
      images.push_back(offset(part << bit, 0));
    return images;
  }

  /// The descriptor of an operand at address 0. Its fields count units of 16 bytes.
  uint64_t descriptor() const {
    int row = panel_row_bytes(shape, int(is_transposed() ? own : k), element_bytes);
    uint64_t swizzle = row == 128 ? 1 : row == 64 ? 2 : 3;
    uint64_t eight_rows = uint64_t(8 * row) >> 4;
    // The stride between panels. Rows along K fit one panel.
    uint64_t panel = is_transposed() ? uint64_t(shape[k] * row) >> 4 : 1;
    return swizzle << 62 | eight_rows << 32 | panel << 16;
  }
};

// Operand `number` of a matmul, in `buffer` with its axes in the order `perm`.
SharedOperand operand_in(const Value *buffer, int number, const std::vector<int64_t> &perm) {
  const Type &type = buffer->type;
  return {Shape(type.shape.begin() + 1, type.shape.end()), *type.layout, size_t(perm[number]),
          size_t(perm[1 - number]), bytes_of(type.elem)};
}

TargetOp wgmma_op(Elem elem, bool is_unsigned) {
  if (elem == Elem::i8)
    return is_unsigned ? TargetOp::wgmma_u8 : TargetOp::wgmma_s8;
  if (elem == Elem::e4m3 || elem == Elem::e5m2)
    return elem == Elem::e4m3 ? TargetOp::wgmma_e4m3 : TargetOp::wgmma_e5m2;
  return elem == Elem::f32    ? TargetOp::wgmma_tf32
         : elem == Elem::bf16 ? TargetOp::wgmma_bf16
                              : TargetOp::wgmma_f16;
}

TargetOp wgmma_of_registers_op(Elem elem) {
  return elem == Elem::f32    ? TargetOp::wgmma_tf32_ra
         : elem == Elem::bf16 ? TargetOp::wgmma_bf16_ra
                              : TargetOp::wgmma_f16_ra;
}

// The instructions of one warpgroup: 64 rows and `columns` columns each. Together they cover the
// warpgroup's part of the accumulator.
struct Instructions {
  int64_t rows, all_columns; // of the warpgroup's part
  int64_t columns;           // of one instruction
  int64_t second_row;        // row in the accumulator of a thread's second row; the first is 0
  std::map<FlatIndex, int> places;
  Shape shape;

  explicit Instructions(const Value *accumulator, const std::vector<int64_t> &warpgroups)
      : places(registers_by_index(*accumulator->type.layout)), shape(accumulator->type.shape) {
    constexpr int64_t max_columns = 256;
    second_row = unflatten(shape, accumulator->type.layout->reg[1])[0];
    rows = shape[0] / warpgroups[0];
    all_columns = shape[1] / warpgroups[1];
    columns = std::min(all_columns, max_columns);
  }

  /// Calls `visit(row, column, registers)` for each instruction, with its accumulator registers in
  /// instruction order.
  template <typename Visit> void for_each(Visit visit) const {
    constexpr int64_t instruction_rows = 64;
    for (int64_t row = 0; row < rows; row += instruction_rows)
      for (int64_t column = 0; column < all_columns; column += columns) {
        std::vector<size_t> registers;
        for (int64_t i = 0; i < columns / 2; i++)
          registers.push_back(size_t(places.at(
              flatten(shape, {row + second_row * (i >> 1 & 1), column + 8 * (i >> 2) + (i & 1)}))));
        visit(row, column, registers);
      }
  }
};

// The left operand in registers.
struct Fragment {
  const Registers &registers;
  const LinearLayout &layout;
  std::map<FlatIndex, int> places = registers_by_index(layout);

  llvm::Value *word(llvm::IRBuilder<> &builder, int64_t row, int64_t k, int64_t elements) const {
    std::vector<size_t> which;
    for (int64_t i = 0; i < elements; i++)
      which.push_back(size_t(places.at(flatten(layout.shape, {row, k + i}))));
    return builder.CreateBitCast(gather(builder, registers, which), builder.getInt32Ty());
  }

  /// The four words of one instruction from `row` and `k` on: the first half of K of both rows,
  /// then the second half.
  llvm::Value *words(llvm::IRBuilder<> &builder, int64_t row, int64_t second_row, int64_t k,
                     int64_t deep) const {
    constexpr int64_t lanes_along_k = 4;
    int64_t half = deep / 2, elements = half / lanes_along_k;
    llvm::Value *four = llvm::PoisonValue::get(llvm::FixedVectorType::get(builder.getInt32Ty(), 4));
    for (int64_t i = 0; i < 4; i++)
      four = builder.CreateInsertElement(
          four, word(builder, row + second_row * (i & 1), k + half * (i >> 1), elements),
          uint64_t(i));
    return four;
  }
};

// Depth of one instruction along K, in elements.
int64_t depth_of(Elem elem) { return 256 / bits_of(elem); }

// The low bits of the descriptor of an operand at `address`. The mask keeps 18 bits, so the base of
// the shared memory window does not matter.
llvm::Value *descriptor_start(llvm::IRBuilder<> &builder, llvm::Value *address) {
  return builder.CreateLShr(builder.CreateAnd(address, 0x3ffff), 4);
}

llvm::Value *descriptor(llvm::IRBuilder<> &builder, llvm::Value *start,
                        const SharedOperand &operand, int64_t at_own, int64_t at_k) {
  llvm::Value *low = builder.CreateAdd(start, builder.getInt32(operand.offset(at_own, at_k) >> 4));
  return builder.CreateOr(builder.CreateZExt(low, builder.getInt64Ty()),
                          builder.getInt64(operand.descriptor()));
}

} // namespace

Lowering::Groups Lowering::accumulator_groups(const Value *value) {
  constexpr Opcode matmuls[] = {Opcode::wgmma_ss_, Opcode::wgmma_rs_, Opcode::wgmma_wait_};
  if (!value->op || !llvm::is_contained(matmuls, value->op->code))
    return {};
  Groups groups;
  Instructions(value, value->op->get(attr::warpgroups_))
      .for_each([&](int64_t, int64_t, const auto &which) { groups.push_back(which); });
  return groups;
}

void Lowering::lower_wgmma_ss(const Op &op) {
  const Value *accumulator = op.result();
  std::vector<int64_t> warpgroups = op.get(attr::warpgroups_), perms = op.get(attr::perms_);
  SharedOperand tiles[2] = {operand_in(op.operand(0), 0, {perms[0], perms[1]}),
                            operand_in(op.operand(2), 1, {perms[2], perms[3]})};
  Instructions instructions(accumulator, warpgroups);
  Elem elem = op.operand(0)->type.elem;
  int64_t deep = depth_of(elem), k_extent = tiles[0].shape[tiles[0].k];

  llvm::Value *group = builder_.CreateLShr(warp(), 2);
  auto start = [&](int number, int64_t part) {
    llvm::Value *stage =
        stage_address(op.operand(size_t(2 * number)), op.operand(size_t(2 * number + 1)));
    std::vector<uint32_t> images = tiles[number].parts(number, part, warpgroups);
    return descriptor_start(builder_, builder_.CreateAdd(stage, move_bits(group, images)));
  };
  llvm::Value *starts[2] = {start(0, instructions.rows), start(1, instructions.all_columns)};

  Registers registers = this->registers(op.operand(4));
  llvm::Value *adds = whether_to_add(op.operand_or_null(5));
  call_target_op(builder_, TargetOp::wgmma_fence);
  instructions.for_each([&](int64_t row, int64_t column, const std::vector<size_t> &which) {
    llvm::Value *packed = gather(builder_, registers, which);
    for (int64_t k = 0; k < k_extent; k += deep) {
      std::vector<llvm::Value *> operands = {builder_.getInt32(uint32_t(which.size())),
                                             descriptor(builder_, starts[0], tiles[0], row, k),
                                             descriptor(builder_, starts[1], tiles[1], column, k),
                                             k ? builder_.getInt32(1) : adds};
      if (bits_of(elem) == 16)
        for (const SharedOperand &tile : tiles)
          operands.push_back(builder_.getInt32(tile.is_transposed()));
      operands.push_back(packed);
      packed = call_target_op(builder_, wgmma_op(elem, op.has(attr::unsigned_)), operands);
    }
    scatter(builder_, packed, registers, which);
  });
  call_target_op(builder_, TargetOp::wgmma_commit);
  define(accumulator, std::move(registers));
}

void Lowering::lower_wgmma_rs(const Op &op) {
  const Value *accumulator = op.result(), *left = op.operand(0);
  std::vector<int64_t> warpgroups = op.get(attr::warpgroups_);
  SharedOperand right = operand_in(op.operand(1), 1, op.get(attr::perm_));
  Instructions instructions(accumulator, warpgroups);
  Fragment fragment{this->registers(left), *left->type.layout};
  Elem elem = left->type.elem;
  int64_t deep = depth_of(elem), k_extent = left->type.shape[1], first = op.get(attr::origin_)[0];

  llvm::Value *group = builder_.CreateLShr(warp(), 2);
  std::vector<uint32_t> images = right.parts(1, instructions.all_columns, warpgroups);
  llvm::Value *offset = move_bits(group, images);
  llvm::Value *stage = stage_address(op.operand(1), op.operand(2));
  llvm::Value *start = descriptor_start(builder_, builder_.CreateAdd(stage, offset));

  Registers registers = this->registers(op.operand(3));
  llvm::Value *adds = whether_to_add(op.operand_or_null(4));
  call_target_op(builder_, TargetOp::wgmma_fence);
  instructions.for_each([&](int64_t row, int64_t column, const std::vector<size_t> &which) {
    llvm::Value *packed = gather(builder_, registers, which);
    for (int64_t k = 0; k < k_extent; k += deep) {
      std::vector<llvm::Value *> operands = {
          builder_.getInt32(uint32_t(which.size())),
          fragment.words(builder_, row, instructions.second_row, k, deep),
          descriptor(builder_, start, right, column, first + k), k ? builder_.getInt32(1) : adds};
      if (bits_of(elem) == 16)
        operands.push_back(builder_.getInt32(right.is_transposed()));
      operands.push_back(packed);
      packed = call_target_op(builder_, wgmma_of_registers_op(elem), operands);
    }
    scatter(builder_, packed, registers, which);
  });
  call_target_op(builder_, TargetOp::wgmma_commit);
  define(accumulator, std::move(registers));
}

// Returns 1 if there is no condition.
llvm::Value *Lowering::whether_to_add(const Value *condition) {
  return condition ? builder_.CreateZExt(scalar(condition), builder_.getInt32Ty())
                   : builder_.getInt32(1);
}

void Lowering::lower_wgmma_wait(const Op &op) {
  const Value *accumulator = op.result();
  Registers registers = this->registers(op.operand(0));
  std::vector<int64_t> warpgroups = op.get(attr::warpgroups_);
  TargetOp wait =
      is_float(accumulator->type.elem) ? TargetOp::wgmma_wait_f32 : TargetOp::wgmma_wait_s32;
  std::vector<size_t> all; // a wait applies to all instructions of a group
  Instructions(accumulator, warpgroups)
      .for_each([&](int64_t, int64_t, const std::vector<size_t> &which) {
        all.insert(all.end(), which.begin(), which.end());
      });
  llvm::Value *packed = call_target_op(builder_, wait,
                                       {builder_.getInt32(uint32_t(all.size())),
                                        builder_.getInt32(uint32_t(op.get(attr::pending_))),
                                        gather(builder_, registers, all)});
  scatter(builder_, packed, registers, all);
  define(accumulator, std::move(registers));
}

} // namespace tritonc
