// Lowers arithmetic, element by element.
//
// Signed integer arithmetic has the flag nsw: the language leaves overflow of indices undefined,
// and the address arithmetic of loops simplifies only with this flag. Unsigned arithmetic wraps.
//
// Tested by tests/unit/lower/arithmetic_test.cpp.

#include "lower/double_functions.h"
#include "lower/float_functions.h"
#include "lower/lowering.h"
#include "lower/small_floats.h"

namespace tritonc {

using namespace ir;

void Lowering::lower_constant(const Op &op) {
  llvm::Type *type = type_of(op.result()->type.elem);
  llvm::Value *value =
      is_small_float(op.result()->type.elem)
          ? code_of(context_, op.result()->type.elem, op.get(attr::number_))
      : is_float(op.result()->type.elem)
          ? (llvm::Value *)llvm::ConstantFP::get(type, op.get(attr::number_))
          : llvm::ConstantInt::get(type, uint64_t(op.get(attr::value_)), true, true);
  define(op.result(), {value});
}

// The value passes through a shuffle from lane 0. LLVM and ptxas do not see through a shuffle, and
// do not move it out of a loop.
void Lowering::lower_no_hoist(const Op &op) {
  llvm::Value *value = scalar(op.operand(0));
  llvm::Type *word = builder_.getInt32Ty();
  auto pin = [&](llvm::Value *half) -> llvm::Value * {
    return call_target_op(builder_, TargetOp::shfl_idx, {half, builder_.getInt32(0)});
  };
  if (value->getType() == word)
    return define(op.result(), {pin(value)});
  llvm::Value *low = pin(builder_.CreateTrunc(value, word));
  llvm::Value *high = pin(builder_.CreateTrunc(builder_.CreateLShr(value, 32), word));
  llvm::Type *type = value->getType();
  llvm::Value *upper = builder_.CreateShl(builder_.CreateZExt(high, type), 32);
  define(op.result(), {builder_.CreateOr(builder_.CreateZExt(low, type), upper)});
}

llvm::Value *Lowering::compare(const Op &op, llvm::Value *a, llvm::Value *b) {
  using Predicate = llvm::CmpInst::Predicate;
  struct Row {
    std::string_view name;
    Predicate on_integers, on_floats;
  };
  static constexpr Row rows[] = {
      {"eq", Predicate::ICMP_EQ, Predicate::FCMP_OEQ},
      {"ne", Predicate::ICMP_NE, Predicate::FCMP_UNE},
      {"lt", Predicate::ICMP_SLT, Predicate::FCMP_OLT},
      {"le", Predicate::ICMP_SLE, Predicate::FCMP_OLE},
      {"gt", Predicate::ICMP_SGT, Predicate::FCMP_OGT},
      {"ge", Predicate::ICMP_SGE, Predicate::FCMP_OGE},
      {"ult", Predicate::ICMP_ULT, Predicate::FCMP_OLT},
      {"ule", Predicate::ICMP_ULE, Predicate::FCMP_OLE},
      {"ugt", Predicate::ICMP_UGT, Predicate::FCMP_OGT},
      {"uge", Predicate::ICMP_UGE, Predicate::FCMP_OGE},
  };
  for (const Row &row : rows)
    if (row.name == op.get(attr::pred_))
      return a->getType()->isFloatingPointTy() ? builder_.CreateFCmp(row.on_floats, a, b)
                                               : builder_.CreateICmp(row.on_integers, a, b);
  llvm_unreachable("predicate");
}

llvm::Value *Lowering::convert(Elem from, Elem to, bool from_or_to_unsigned, llvm::Value *value) {
  llvm::Type *type = type_of(to);
  bool is_unsigned = from_or_to_unsigned || from == Elem::i1;
  if (to == Elem::i1) {
    llvm::Constant *zero = llvm::Constant::getNullValue(value->getType());
    return is_float(from) ? builder_.CreateFCmpUNE(value, zero)
                          : builder_.CreateICmpNE(value, zero);
  }
  if (is_integer(from) && is_integer(to))
    return builder_.CreateIntCast(value, type, !is_unsigned);
  if (is_integer(from))
    return is_unsigned ? builder_.CreateUIToFP(value, type) : builder_.CreateSIToFP(value, type);
  if (is_integer(to))
    return from_or_to_unsigned ? builder_.CreateFPToUI(value, type)
                               : builder_.CreateFPToSI(value, type);
  // f16 and bf16 have the same size but different ranges. LLVM treats the type with fewer fraction
  // bits as the narrower type, and would compute `(half)(float)(h * b)` in half, where b may be
  // infinite. So the code hides from LLVM that the upper half of a float is a bf16.
  if (from == Elem::bf16 && to != from) {
    llvm::Value *bits = builder_.CreateZExt(builder_.CreateBitCast(value, builder_.getInt16Ty()),
                                            builder_.getInt32Ty());
    value = builder_.CreateBitCast(builder_.CreateShl(bits, 16), builder_.getFloatTy());
  } else if (to == Elem::bf16 && from == Elem::f16) {
    value = builder_.CreateFPExt(value, builder_.getFloatTy());
  }
  return builder_.CreateFPCast(value, type);
}

namespace {

// exp and log of floats use the base-2 instructions of the GPU, which are accurate to 2 ulp over
// most of the range (PTX ISA, ex2.approx and lg2.approx).
llvm::Value *approximate(llvm::IRBuilder<> &builder, llvm::Intrinsic::ID id, llvm::Value *value) {
  llvm::CallInst *call = builder.CreateUnaryIntrinsic(id, value);
  call->setHasApproxFunc(true);
  return call;
}

// Operands of an integer division for which LLVM defines the result. In LLVM, a zero divisor or an
// overflowing quotient is undefined behavior even if the result is unused, for example if a mask or
// a `?:` discards it. In tile IR only the use is wrong, so the divisor becomes 1.
struct Division {
  llvm::Value *dividend, *divisor;
};

Division with_result(llvm::IRBuilder<> &builder, llvm::Value *x, llvm::Value *y, bool is_signed) {
  auto *constant = llvm::dyn_cast<llvm::ConstantInt>(y);
  if (constant && !constant->isZero() && !(is_signed && constant->isMinusOne()))
    return {x, y};
  llvm::Type *type = y->getType();
  y = builder.CreateFreeze(y);
  llvm::Value *wrong = builder.CreateICmpEQ(y, llvm::ConstantInt::get(type, 0));
  if (is_signed) {
    x = builder.CreateFreeze(x);
    auto min_value = llvm::APInt::getSignedMinValue(type->getIntegerBitWidth());
    llvm::Value *is_minus_one = builder.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(type));
    llvm::Value *is_min = builder.CreateICmpEQ(x, llvm::ConstantInt::get(type, min_value));
    llvm::Value *overflows = builder.CreateAnd(is_min, is_minus_one);
    wrong = builder.CreateOr(wrong, overflows);
  }
  return {x, builder.CreateSelect(wrong, llvm::ConstantInt::get(type, 1), y)};
}

llvm::Value *divide(llvm::IRBuilder<> &builder, llvm::Instruction::BinaryOps instruction,
                    llvm::Value *x, llvm::Value *y) {
  bool is_signed = instruction == llvm::Instruction::SDiv || instruction == llvm::Instruction::SRem;
  Division division = with_result(builder, x, y, is_signed);
  return builder.CreateBinOp(instruction, division.dividend, division.divisor);
}

// The same by the reciprocal of y, see precompute_reciprocals. x and y have 32 bits.
llvm::Value *divide_by_reciprocal(llvm::IRBuilder<> &b, const Op &op, llvm::Value *x,
                                  llvm::Value *y, llvm::Value *reciprocal) {
  const bool is_signed = op.is(Opcode::div_) || op.is(Opcode::rem_);
  const bool is_quotient = op.is(Opcode::div_) || op.is(Opcode::udiv_);
  llvm::Type *word = b.getInt32Ty(), *wide = b.getInt64Ty();
  llvm::Value *sign = is_signed ? b.CreateAShr(y, 31) : b.getInt32(0);
  auto negate = [&](llvm::Value *value) { // if y is negative
    return is_signed ? b.CreateSub(b.CreateXor(value, sign), sign) : value;
  };
  // The product has 93 bits: the factor is cut into two words.
  llvm::Value *factor = b.CreateZExt(x, wide);
  llvm::Value *low = b.CreateMul(factor, b.CreateAnd(reciprocal, 0xffffffff));
  llvm::Value *high = b.CreateMul(factor, b.CreateLShr(reciprocal, 32));
  llvm::Value *sum = b.CreateAdd(high, b.CreateLShr(low, 32));
  llvm::Value *quotient = b.CreateTrunc(b.CreateLShr(sum, 30), word);
  return is_quotient ? negate(quotient) : b.CreateSub(x, b.CreateMul(quotient, negate(y)));
}

constexpr double log2_of_e = 1.4426950408889634, ln_of_2 = 0.6931471805599453;

} // namespace

llvm::Value *Lowering::element(const Op &op, llvm::ArrayRef<llvm::Value *> operands) {
  llvm::IRBuilder<> &b = builder_;
  llvm::Value *x = operands[0], *y = operands.size() > 1 ? operands[1] : nullptr;
  bool fp = x->getType()->isFloatingPointTy(), wraps = op.has(attr::unsigned_);
  const bool is_division = op.code >= Opcode::div_ && op.code <= Opcode::urem_;
  if (is_division && operands.size() == 3)
    return divide_by_reciprocal(b, op, x, y, operands[2]);
  switch (op.code) {
  case Opcode::constant_load_:
    return constant_element(op, x);
  case Opcode::add_:
    return fp ? b.CreateFAdd(x, y) : b.CreateAdd(x, y, "", false, !wraps);
  case Opcode::sub_:
    return fp ? b.CreateFSub(x, y) : b.CreateSub(x, y, "", false, !wraps);
  case Opcode::mul_:
    return fp ? b.CreateFMul(x, y) : b.CreateMul(x, y, "", false, !wraps);
  case Opcode::div_:
    return fp ? b.CreateFDiv(x, y) : divide(b, llvm::Instruction::SDiv, x, y);
  case Opcode::udiv_:
    return divide(b, llvm::Instruction::UDiv, x, y);
  case Opcode::rem_:
    return fp ? b.CreateFRem(x, y) : divide(b, llvm::Instruction::SRem, x, y);
  case Opcode::urem_:
    return divide(b, llvm::Instruction::URem, x, y);
  case Opcode::min_:
    return fp ? b.CreateMinNum(x, y) : b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y);
  case Opcode::max_:
    return fp ? b.CreateMaxNum(x, y) : b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y);
  case Opcode::umin_:
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, x, y);
  case Opcode::umax_:
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, x, y);
  case Opcode::and_:
    return b.CreateAnd(x, y);
  case Opcode::or_:
    return b.CreateOr(x, y);
  case Opcode::xor_:
    return b.CreateXor(x, y);
  case Opcode::shl_:
    return b.CreateShl(x, y);
  case Opcode::shr_:
    return b.CreateAShr(x, y);
  case Opcode::ushr_:
    return b.CreateLShr(x, y);
  case Opcode::neg_:
    return fp ? b.CreateFNeg(x) : b.CreateNeg(x, "", !wraps);
  case Opcode::abs_:
    return fp ? (llvm::Value *)b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x)
              : b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse());
  case Opcode::exp_:
    if (x->getType()->isDoubleTy())
      return exp_of_double(b, x);
    return approximate(b, llvm::Intrinsic::exp2,
                       b.CreateFMul(x, llvm::ConstantFP::get(x->getType(), log2_of_e)));
  case Opcode::log_:
    if (x->getType()->isDoubleTy())
      return log_of_double(b, x);
    return b.CreateFMul(approximate(b, llvm::Intrinsic::log2, x),
                        llvm::ConstantFP::get(x->getType(), ln_of_2));
  case Opcode::sqrt_:
    return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  case Opcode::rsqrt_:
    return b.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1),
                        b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x));
  case Opcode::exp2_:
    return x->getType()->isDoubleTy() ? exp2_of_double(b, x)
                                      : approximate(b, llvm::Intrinsic::exp2, x);
  case Opcode::log2_:
    if (x->getType()->isDoubleTy())
      return b.CreateFMul(log_of_double(b, x), llvm::ConstantFP::get(x->getType(), log2_of_e));
    return approximate(b, llvm::Intrinsic::log2, x);
  case Opcode::sin_:
    return x->getType()->isDoubleTy() ? sin_of_double(b, x) : sin_of_float(b, x);
  case Opcode::cos_:
    return x->getType()->isDoubleTy() ? cos_of_double(b, x) : cos_of_float(b, x);
  case Opcode::tanh_:
    return x->getType()->isDoubleTy() ? tanh_of_double(b, x) : tanh_of_float(b, x);
  case Opcode::erf_:
    return x->getType()->isDoubleTy() ? erf_of_double(b, x) : erf_of_float(b, x);
  case Opcode::pow_:
    return x->getType()->isDoubleTy() ? pow_of_doubles(b, x, y) : pow_of_floats(b, x, y);
  case Opcode::floor_:
    return b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
  case Opcode::ceil_:
    return b.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, x);
  case Opcode::trunc_:
    return b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
  case Opcode::round_:
    return rounded_away(b, x);
  case Opcode::fma_:
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, operands[2]});
  case Opcode::copy_: // other types need no separate registers
    return x->getType()->isFloatTy() ? call_target_op(b, TargetOp::copy_f32, {x}) : x;
  case Opcode::cmp_:
    return compare(op, x, y);
  case Opcode::select_:
    return b.CreateSelect(x, y, operands[2]);
  case Opcode::cast_:
    return convert(op.operand(0)->type.elem, op.result()->type.elem, wraps, x);
  case Opcode::bitcast_:
    return b.CreateBitOrPointerCast(x, element_type(op.result()->type));
  case Opcode::addptr_: {
    llvm::Value *offset = b.CreateSExtOrTrunc(y, b.getInt64Ty());
    return b.CreateGEP(type_of(op.result()->type.elem), x, offset);
  }
  default:
    llvm_unreachable("not an element-wise operation");
  }
}

// Casts of 8-bit floats go through halves and floats, several elements at a time.
void Lowering::lower_small_cast(const Op &op) {
  Elem from = op.operand(0)->type.elem, to = op.result()->type.elem;
  bool is_unsigned = op.has(attr::unsigned_);
  Registers values = registers(op.operand(0));
  if (is_small_float(from)) {
    values = halves_of(builder_, gpu_, from, values);
    from = Elem::f16;
  }
  Elem between = !is_small_float(to) ? to : from == Elem::f64 ? Elem::f64 : Elem::f32;
  if (from != between)
    for (llvm::Value *&value : values)
      value = convert(from, between, is_unsigned, value);
  define(op.result(), is_small_float(to) ? codes_of(builder_, gpu_, to, values) : values);
}

// The registers whose elements differ from another register only in the place in a group of equal
// results (see `cmp`): as a mask of the bits of the register's index.
static size_t bits_in_group(const Op &op) {
  const LinearLayout *layout = op.result()->type.layout.get();
  if (!layout || !op.has(attr::vector_))
    return 0;
  const int shift = axis_shift(layout->shape, int(op.get(attr::axis_)));
  const FlatIndex group = FlatIndex(op.get(attr::vector_) - 1) << shift;
  size_t bits = 0;
  for (size_t bit = 0; bit < layout->reg.size(); bit++)
    if (!(layout->reg[bit] & ~group))
      bits |= size_t(1) << bit;
  return bits;
}

void Lowering::lower_elementwise(const Op &op) {
  if (op.is(Opcode::cast_) &&
      (is_small_float(op.operand(0)->type.elem) || is_small_float(op.result()->type.elem)))
    return lower_small_cast(op);
  size_t count = op.result()->type.layout ? size_t(op.result()->type.layout->registers()) : 1;
  const size_t in_group = bits_in_group(op);
  Registers result;
  for (size_t r = 0; r < count; r++) {
    if (r & in_group) {
      result.push_back(result[r & ~in_group]);
      continue;
    }
    llvm::SmallVector<llvm::Value *, 3> operands;
    for (const Value *operand : op.operands)
      operands.push_back(operand->type.is_tile() ? registers(operand)[r] : scalar(operand));
    result.push_back(element(op, operands));
  }
  define(op.result(), std::move(result));
}

} // namespace tritonc
