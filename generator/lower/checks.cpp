// Lowers `print` and `assert`.
//
// The thread that holds the first copy of an element passes it on, so each element is reported
// once. The emulator or the driver formats the report; runtime/emulator/device_printf.h has the
// rules for `print`.
//
// Tested by tests/unit/lower/checks_test.cpp.

#include "ir/checks.h"
#include "lower/lowering.h"

namespace tritonc {

using namespace ir;

namespace {

// The bits of a value as an i64; unspecified if a load was masked off.
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
  llvm::Value *of_warp = move_bits(warp(), layout.warp);
  llvm::Value *thread = builder_.CreateXor(move_bits(lane(), layout.lane), of_warp);
  for (auto [index, r] : registers_by_index(layout))
    visit(r, builder_.CreateXor(thread, builder_.getInt32(index)));
}

void Lowering::lower_print(const Op &op) {
  llvm::Value *format = builder_.CreateGlobalString(print_format(op), "tritonc_print");
  llvm::Value *statement = builder_.getInt32(uint32_t(prints_++));
  auto call = [&](size_t value, llvm::Value *element, llvm::Value *bits) {
    call_target_op(builder_, TargetOp::print,
                   {format, statement, builder_.getInt32(uint32_t(value)), element, bits});
  };
  auto call_for = [&](size_t i) {
    for_each_element(op.operand(i), [&](int r, llvm::Value *index) {
      call(i, index, bits_of(builder_, registers(op.operand(i))[size_t(r)]));
    });
  };
  guarded(is_first_thread(), [&] {
    call(size_t(-1), builder_.getInt32(0), builder_.getInt64(0));
    for (size_t i = 0; i < op.operands.size(); i++)
      if (!op.operand(i)->type.is_tile())
        call_for(i);
  });
  for (size_t i = 0; i < op.operands.size(); i++)
    if (op.operand(i)->type.is_tile())
      guarded(holds_first_copy(*op.operand(i)->type.layout), [&] { call_for(i); });
}

void Lowering::lower_assert(const Op &op) {
  const Value *condition = op.operand(0);
  llvm::Value *text = builder_.CreateGlobalString(assertion_format(op), "tritonc_assert");
  llvm::Value *file = builder_.CreateGlobalString(fn_.file, "tritonc_file");
  llvm::Value *line = builder_.getInt32(uint32_t(op.location.line));
  bool is_tile = condition->type.is_tile();
  guarded(is_tile ? holds_first_copy(*condition->type.layout) : is_first_thread(), [&] {
    for_each_element(condition, [&](int r, llvm::Value *index) {
      // A masked-off load returns an unspecified value, which must not decide a branch.
      llvm::Value *holds = builder_.CreateFreeze(registers(condition)[size_t(r)]);
      guarded(builder_.CreateNot(holds),
              [&] { call_target_op(builder_, TargetOp::assert_fail, {text, file, line, index}); });
    });
  });
}

} // namespace tritonc
