// Lowering: contractions.
//
// The fragments of the instructions are in the PTX ISA, "Matrix multiply-accumulate operation using
// mma instruction". Word i of A is at row m + 8 (i & 1), and its elements at k + (i >> 1) * k/2;
// word i of B at k + i * k/2. Which register that is, the layouts say.

#include "lower/lowering.h"

#include "analysis/layouts.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

void Lowering::lower_dot(const Op &op) {
  if (dot_instruction(op).tensor_core)
    return lower_mma(op);
  lower_fma(op);
}

namespace {

TargetOp mma_op(const DotInstruction &instruction, Elem elem) {
  if (elem == Elem::f32)
    return instruction.k == 8 ? TargetOp::mma_m16n8k8_tf32 : TargetOp::mma_m16n8k4_tf32;
  if (elem == Elem::bf16)
    return instruction.k == 16 ? TargetOp::mma_m16n8k16_bf16 : TargetOp::mma_m16n8k8_bf16;
  return instruction.k == 16 ? TargetOp::mma_m16n8k16_f16 : TargetOp::mma_m16n8k8_f16;
}

// The registers of one factor, by coordinates that are those of thread 0.
struct Factor {
  const Registers &registers;
  const LinearLayout &layout;
  std::map<FlatIndex, int> places = registers_by_index(layout);

  llvm::Value *at(int64_t row, int64_t column) const {
    return registers[size_t(places.at(flatten(layout.shape, {row, column})))];
  }
};

// `words` as one value: the word itself, or a vector of them.
llvm::Value *pack(llvm::IRBuilder<> &builder, const Registers &words) {
  if (words.size() == 1)
    return words[0];
  llvm::Value *packed = llvm::PoisonValue::get(
      llvm::FixedVectorType::get(words[0]->getType(), unsigned(words.size())));
  for (size_t i = 0; i < words.size(); i++)
    packed = builder.CreateInsertElement(packed, words[i], uint64_t(i));
  return packed;
}

// Where the sums of a dot are, of those that an instruction makes the first one; by coordinates
// that are those of thread 0. Row by row, there and back, so that each has a factor in common with
// the one before: what an instruction reads again it need not fetch from the register file, which
// is too slow for three registers of an fma in each cycle.
std::vector<std::vector<int64_t>> there_and_back(const LinearLayout &layout,
                                                 const DotInstruction &instruction) {
  std::map<int64_t, std::vector<int64_t>> rows; // columns in each
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

// The 32-bit word that starts with `first`; `second` is its other half, if it has one.
llvm::Value *word(llvm::IRBuilder<> &builder, llvm::Value *first, llvm::Value *second) {
  if (!second)
    return call_target_op(builder, TargetOp::cvt_rna_tf32, {first});
  return builder.CreateBitCast(pack(builder, {first, second}), builder.getInt32Ty());
}

} // namespace

void Lowering::lower_mma(const Op &op) {
  DotInstruction instruction = dot_instruction(op);
  Elem elem = op.operand(0)->type.elem;
  bool pairs = bits_of(elem) == 16;
  TargetOp mma = mma_op(instruction, elem);
  Factor a{registers(op.operand(0)), *op.operand(0)->type.layout};
  Factor b{registers(op.operand(1)), *op.operand(1)->type.layout};
  const LinearLayout &layout = *op.result()->type.layout;
  std::map<FlatIndex, int> places = registers_by_index(layout);
  Registers result = registers(op.operand(2));

  // Words along k: one for every 8 bytes... a lane holds 4 bytes of each 16.
  int words_k = instruction.k * bits_of(elem) / 128;
  int64_t next_word = words_k ? instruction.k / words_k : 0;
  std::map<int64_t, llvm::Value *> rows, columns; // fragments already packed
  auto row = [&](int64_t m) {
    if (rows.count(m))
      return rows[m];
    Registers words;
    for (int i = 0; i < 2 * words_k; i++) {
      int64_t r = m + 8 * (i & 1), k = (i >> 1) * next_word;
      words.push_back(word(builder_, a.at(r, k), pairs ? a.at(r, k + 1) : nullptr));
    }
    return rows[m] = pack(builder_, words);
  };
  auto column = [&](int64_t n) {
    if (columns.count(n))
      return columns[n];
    Registers words;
    for (int i = 0; i < words_k; i++) {
      int64_t k = i * next_word;
      words.push_back(word(builder_, b.at(k, n), pairs ? b.at(k + 1, n) : nullptr));
    }
    return columns[n] = pack(builder_, words);
  };

  for (const std::vector<int64_t> &at : there_and_back(layout, instruction)) {
    Registers sums;
    std::vector<size_t> four;
    for (int i = 0; i < 4; i++) {
      four.push_back(
          size_t(places.at(flatten(layout.shape, {at[0] + 8 * (i >> 1), at[1] + (i & 1)}))));
      sums.push_back(result[four.back()]);
    }
    llvm::Value *sum =
        call_target_op(builder_, mma, {row(at[0]), column(at[1]), pack(builder_, sums)});
    for (int i = 0; i < 4; i++)
      result[four[size_t(i)]] = builder_.CreateExtractElement(sum, uint64_t(i));
  }
  define(op.result(), std::move(result));
}

void Lowering::lower_fma(const Op &op) {
  Factor a{registers(op.operand(0)), *op.operand(0)->type.layout};
  Factor b{registers(op.operand(1)), *op.operand(1)->type.layout};
  const LinearLayout &layout = *op.result()->type.layout;
  llvm::Type *type = type_of(op.result()->type.elem);
  Registers result = registers(op.operand(2));
  auto widened = [&](llvm::Value *value) {
    return type->isFloatingPointTy() ? builder_.CreateFPCast(value, type)
                                     : builder_.CreateIntCast(value, type, true);
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
      llvm::Value *&sum = result[size_t(places.at(flatten(layout.shape, at)))];
      sum = type->isFloatingPointTy()
                ? builder_.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {x, y, sum})
                : builder_.CreateAdd(builder_.CreateMul(x, y), sum);
    }
  }
  define(op.result(), std::move(result));
}

} // namespace tritonc
