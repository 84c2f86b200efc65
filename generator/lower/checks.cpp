// Lowering: what a kernel says about itself, `print` and `assert`.
//
// Every element is handed over once, by the thread that holds its first copy. What is done with it
// is up to whoever runs the code; runtime/emulator/prints.h has the rules for `print`.
//
// Tested by tests/lower/checks_test.cpp.

#include "ir/checks.h"
#include "lower/lowering.h"

namespace tritonc {

using namespace ir;

namespace {

// The bits of a number as an i64; any, where a load was masked off.
llvm::Value *bits_of(llvm::IRBuilder<> &builder, llvm::Value *number) {
  unsigned bits = number->getType()->getScalarSizeInBits();
  number = builder.CreateFreeze(number);
  llvm::Value *integer = builder.CreateBitCast(number, builder.getIntNTy(bits));
  return builder.CreateZExt(integer, builder.getInt64Ty());
}

} // namespace

llvm::Value *Lowering::is_first_thread() {
  return builder_.CreateICmpEQ(builder_.CreateOr(lane(), warp()), builder_.getInt32(0));
}

void Lowering::for_each_element(const Value *value,
                                const std::function<void(int, llvm::Value *)> &visit) {
  if (!value->type.is_tile())
    return visit(0, builder_.getInt32(0));
  const LinearLayout &layout = *value->type.layout;
  llvm::Value *thread =
      builder_.CreateXor(move_bits(lane(), layout.lane), move_bits(warp(), layout.warp));
  for (auto [index, r] : registers_by_index(layout))
    visit(r, builder_.CreateXor(thread, builder_.getInt32(index)));
}

void Lowering::lower_print(const Op &op) {
  llvm::Value *format = builder_.CreateGlobalString(print_format(op), "tritonc_print");
  llvm::Value *statement = builder_.getInt32(uint32_t(prints_++));
  auto call = [&](llvm::Value *element, llvm::Value *bits) {
    call_target_op(builder_, TargetOp::print, {format, statement, element, bits});
  };
  guarded(is_first_thread(), [&] { call(builder_.getInt32(-1u), builder_.getInt64(0)); });
  uint32_t first = 0; // element of this value
  for (const Value *value : op.operands) {
    bool is_tile = value->type.is_tile();
    guarded(is_tile ? holds_first_copy(*value->type.layout) : is_first_thread(), [&] {
      for_each_element(value, [&](int r, llvm::Value *index) {
        call(builder_.CreateAdd(index, builder_.getInt32(first)),
             bits_of(builder_, registers(value)[size_t(r)]));
      });
    });
    first += uint32_t(value->type.elements());
  }
}

void Lowering::lower_assert(const Op &op) {
  const Value *condition = op.operand(0);
  llvm::Value *text = builder_.CreateGlobalString(assertion_format(op), "tritonc_assert");
  bool is_tile = condition->type.is_tile();
  guarded(is_tile ? holds_first_copy(*condition->type.layout) : is_first_thread(), [&] {
    for_each_element(condition, [&](int r, llvm::Value *index) {
      // Where a load was masked off, anything may come out, but it must not decide a branch.
      llvm::Value *holds = builder_.CreateFreeze(registers(condition)[size_t(r)]);
      guarded(builder_.CreateNot(holds),
              [&] { call_target_op(builder_, TargetOp::assert_fail, {text, index}); });
    });
  });
}

} // namespace tritonc
