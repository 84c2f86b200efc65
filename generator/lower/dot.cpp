// Lowers dots to mma, or to fma without tensor cores.
//
// The PTX ISA, "Matrix multiply-accumulate operation using mma instruction", has the fragments. A
// word is 32 bits, or a double. The words of A are at rows m and m + 8 (if the instruction has 16
// rows) of the first columns, then of the next columns. The words of B follow each other along the
// columns. The layouts map these words to registers.
//
// Tested by tests/unit/lower/dot_test.cpp.

#include "lower/lowering.h"

#include "analysis/layouts.h"
#include "lower/small_floats.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

void Lowering::lower_dot(const Op &op) {
  if (dot_instruction(op).tensor_core)
    return lower_mma(op);
  lower_fma(op);
}

namespace {

TargetOp mma_op(const DotInstruction &instruction, Elem elem, bool is_unsigned) {
  if (elem == Elem::i8 && is_unsigned)
    return instruction.m == 8    ? TargetOp::mma_m8n8k16_u8
           : instruction.k == 32 ? TargetOp::mma_m16n8k32_u8
                                 : TargetOp::mma_m16n8k16_u8;
  if (elem == Elem::i8)
    return instruction.m == 8    ? TargetOp::mma_m8n8k16_s8
           : instruction.k == 32 ? TargetOp::mma_m16n8k32_s8
                                 : TargetOp::mma_m16n8k16_s8;
  if (is_small_float(elem))
    return elem == Elem::e4m3 ? TargetOp::mma_m16n8k32_e4m3 : TargetOp::mma_m16n8k32_e5m2;
  if (elem == Elem::f64)
    return instruction.m == 8   ? TargetOp::mma_m8n8k4_f64
           : instruction.k == 8 ? TargetOp::mma_m16n8k8_f64
                                : TargetOp::mma_m16n8k4_f64;
  if (elem == Elem::f32)
    return instruction.k == 8 ? TargetOp::mma_m16n8k8_tf32 : TargetOp::mma_m16n8k4_tf32;
  if (elem == Elem::bf16)
    return instruction.k == 16 ? TargetOp::mma_m16n8k16_bf16 : TargetOp::mma_m16n8k8_bf16;
  return instruction.k == 16 ? TargetOp::mma_m16n8k16_f16 : TargetOp::mma_m16n8k8_f16;
}

// The registers of one operand, by the indices of thread 0.
struct Factor {
  const Registers &registers;
  const LinearLayout &layout;
  std::map<FlatIndex, int> places = registers_by_index(layout);

  llvm::Value *at(int64_t row, int64_t column) const {
    return registers[size_t(places.at(flatten(layout.shape, {row, column})))];
  }
};

// Returns `words` as one value: a single word, or a vector.
llvm::Value *pack(llvm::IRBuilder<> &builder, const Registers &words) {
  if (words.size() == 1)
    return words[0];
  llvm::Value *packed = llvm::PoisonValue::get(
      llvm::FixedVectorType::get(words[0]->getType(), unsigned(words.size())));
  for (size_t i = 0; i < words.size(); i++)
    packed = builder.CreateInsertElement(packed, words[i], uint64_t(i));
  return packed;
}

// The first accumulator element of each instruction, by the indices of thread 0. The order is
// serpentine: row by row, forth and back. So each instruction shares an operand with the previous
// one and need not read it from the register file again. The register file is too slow for three
// operands of an fma per cycle.
std::vector<std::vector<int64_t>> there_and_back(const LinearLayout &layout,
                                                 const DotInstruction &instruction) {
  std::map<int64_t, std::vector<int64_t>> rows; // key: row, value: its columns
  for (auto [index, r] : registers_by_index(layout)) {
    std::vector<int64_t> at = unflatten(layout.shape, index);
    if (at[0] % instruction.m == 0 && at[1] % instruction.n == 0)
      rows[at[0]].push_back(at[1]);
  }
  std::vector<std::vector<int64_t>> order;
  bool back = false;
  for (auto &[row, columns] : rows) {
    if (back)
      std::reverse(columns.begin(), columns.end());
    for (int64_t column : columns)
      order.push_back({row, column});
    back = !back;
  }
  return order;
}

// Returns the word of `elements`; a float is rounded to tf32.
llvm::Value *word(llvm::IRBuilder<> &builder, const Registers &elements) {
  llvm::Type *type = elements[0]->getType();
  if (type->isDoubleTy())
    return elements[0];
  if (type->isFloatTy())
    return call_target_op(builder, TargetOp::cvt_rna_tf32, {elements[0]});
  return builder.CreateBitCast(pack(builder, elements), builder.getInt32Ty());
}

} // namespace

void Lowering::lower_mma(const Op &op) {
  DotInstruction instruction = dot_instruction(op);
  Elem stored = op.operand(0)->type.elem, elem = operand_elem(op);
  TargetOp mma = mma_op(instruction, elem, op.has(attr::unsigned_));
  Factor a{registers(op.operand(0)), *op.operand(0)->type.layout};
  Factor b{registers(op.operand(1)), *op.operand(1)->type.layout};
  const LinearLayout &layout = *op.result()->type.layout;
  std::map<FlatIndex, int> places = registers_by_index(layout);
  Registers result = registers(op.operand(2));

  // Four lanes hold the first words of a row, one each, then the next words.
  constexpr int64_t lanes = 4;
  int64_t per_word = std::max(1, 4 / bytes_of(elem)), next_word = lanes * per_word;
  int64_t words_k = instruction.k / next_word, halves = instruction.m / 8;
  std::map<int64_t, llvm::Value *> rows, columns; // packed fragments
  auto word_of = [&](const Registers &elements) {
    return word(builder_, stored == elem ? elements : halves_of(builder_, gpu_, stored, elements));
  };
  auto row = [&](int64_t m) {
    llvm::Value *&packed = rows[m];
    Registers words;
    for (int64_t i = 0; !packed && i < words_k * halves; i++) {
      Registers elements;
      for (int64_t e = 0; e < per_word; e++)
        elements.push_back(a.at(m + 8 * (i % halves), i / halves * next_word + e));
      words.push_back(word_of(elements));
    }
    return packed ? packed : packed = pack(builder_, words);
  };
  auto column = [&](int64_t n) {
    llvm::Value *&packed = columns[n];
    Registers words;
    for (int64_t i = 0; !packed && i < words_k; i++) {
      Registers elements;
      for (int64_t e = 0; e < per_word; e++)
        elements.push_back(b.at(i * next_word + e, n));
      words.push_back(word_of(elements));
    }
    return packed ? packed : packed = pack(builder_, words);
  };

  for (const std::vector<int64_t> &at : there_and_back(layout, instruction)) {
    Registers accumulators;
    std::vector<size_t> which;
    for (int64_t i = 0; i < 2 * halves; i++) {
      which.push_back(
          size_t(places.at(flatten(layout.shape, {at[0] + 8 * (i >> 1), at[1] + (i & 1)}))));
      accumulators.push_back(result[which.back()]);
    }
    llvm::Value *accumulated =
        call_target_op(builder_, mma, {row(at[0]), column(at[1]), pack(builder_, accumulators)});
    for (size_t i = 0; i < which.size(); i++)
      result[which[i]] = builder_.CreateExtractElement(accumulated, uint64_t(i));
  }
  define(op.result(), std::move(result));
}

void Lowering::lower_fma(const Op &op) {
  Factor a{registers(op.operand(0)), *op.operand(0)->type.layout};
  Factor b{registers(op.operand(1)), *op.operand(1)->type.layout};
  const LinearLayout &layout = *op.result()->type.layout;
  llvm::Type *type = type_of(op.result()->type.elem);
  Registers result = registers(op.operand(2));
  Elem elem = op.operand(0)->type.elem;
  auto widened = [&](llvm::Value *value) {
    if (is_small_float(elem))
      value = halves_of(builder_, gpu_, elem, {value})[0];
    return type->isFloatingPointTy()
               ? builder_.CreateFPCast(value, type)
               : builder_.CreateIntCast(value, type, !op.has(attr::unsigned_));
  };
  std::map<FlatIndex, int> places = registers_by_index(layout);
  std::vector<std::vector<int64_t>> order = there_and_back(layout, dot_instruction(op));
  for (int64_t k = 0; k < a.layout.shape[1]; k++) {
    std::map<int64_t, llvm::Value *> rows, columns;
    for (const std::vector<int64_t> &at : order) {
      llvm::Value *&x = rows[at[0]], *&y = columns[at[1]];
      if (!x)
        x = widened(a.at(at[0], k));
      if (!y)
        y = widened(b.at(k, at[1]));
      llvm::Value *&accumulator = result[size_t(places.at(flatten(layout.shape, at)))];
      accumulator =
          type->isFloatingPointTy()
              ? builder_.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {x, y, accumulator})
              : builder_.CreateAdd(builder_.CreateMul(x, y), accumulator);
    }
  }
  define(op.result(), std::move(result));
}

} // namespace tritonc
