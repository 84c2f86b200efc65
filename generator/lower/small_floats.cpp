// Converts e4m3 and e5m2 from and to other types. See small_floats.h.
//
// To half: e5m2 is the upper half of a half. e4m3 has a narrower exponent, and other infinities and
// NaN. GPUs from sm_89 on have instructions that convert two e4m3 values at a time. Without them,
// the code moves the fields to their places in a half. The result is 2^-8 of the value, subnormal
// or not.
//
// From float: the same GPUs have instructions. Without them, the code rounds a float as an integer.
// - Normal results: it adds up to half of the last place that stays, and a carry into the exponent
//   is correct.
// - Subnormal results, whose last places are all equal: it adds a number so large that the float's
//   own last place is that place.
//
// From double: the code first rounds to a float, to odd (toward zero, and sets the last bit if bits
// were lost). So the second rounding sees on which side of a tie the double was.
//
// Tested by tests/unit/lower/small_floats_test.cpp.

#include "lower/small_floats.h"

#include "backend/target_ops.h"

#include "llvm/ADT/APFloat.h"

#include <algorithm>
#include <cmath>

namespace tritonc {

using namespace ir;

bool is_small_float(Elem elem) { return elem == Elem::e4m3 || elem == Elem::e5m2; }

namespace {

struct Format {
  int fraction_bits, bias;
  double largest;

  /// The last place of subnormal numbers is 2 to this power.
  int min_place() const { return 1 - bias - fraction_bits; }
};

Format format_of(Elem elem) {
  return elem == Elem::e4m3 ? Format{3, 7, 448} : Format{2, 15, 57344};
}

constexpr uint32_t no_number = 0x7f; // the code of NaN
constexpr int float_fraction_bits = 23, float_bias = 127;

class Conversions {
public:
  Conversions(llvm::IRBuilder<> &builder, Elem elem) : b_(builder), elem_(elem) {}

  llvm::Value *half_of(llvm::Value *code) {
    llvm::Value *wide = b_.CreateZExt(code, b_.getInt16Ty());
    if (elem_ == Elem::e5m2)
      return b_.CreateBitCast(b_.CreateShl(wide, 8), b_.getHalfTy());
    llvm::Value *magnitude = b_.CreateAnd(wide, no_number);
    llvm::Value *scaled = b_.CreateBitCast(b_.CreateShl(magnitude, 7), b_.getHalfTy());
    llvm::Value *number = b_.CreateFMul(scaled, llvm::ConstantFP::get(b_.getHalfTy(), 256));
    llvm::Value *sign = b_.CreateShl(b_.CreateAnd(wide, 0x80), 8);
    llvm::Value *bits = b_.CreateOr(b_.CreateBitCast(number, b_.getInt16Ty()), sign);
    llvm::Value *is_number = b_.CreateICmpNE(magnitude, b_.getInt16(no_number));
    return b_.CreateBitCast(b_.CreateSelect(is_number, bits, b_.getInt16(0x7fff)), b_.getHalfTy());
  }

  llvm::Value *code_of(llvm::Value *number) {
    Format format = format_of(elem_);
    llvm::Value *magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, number);
    // A NaN becomes the largest number here; the end restores it.
    magnitude = b_.CreateMinNum(magnitude, real(format.largest));

    int lost = float_fraction_bits - format.fraction_bits;
    llvm::Value *bits = bits_of(magnitude);
    llvm::Value *odd = b_.CreateAnd(b_.CreateLShr(bits, uint64_t(lost)), 1);
    llvm::Value *below_half = b_.getInt32((1u << (lost - 1)) - 1);
    llvm::Value *normal = b_.CreateAdd(b_.CreateAdd(bits, below_half), odd);
    normal = b_.CreateSub(b_.CreateLShr(normal, uint64_t(lost)),
                          b_.getInt32(uint32_t(float_bias - format.bias) << format.fraction_bits));

    llvm::Constant *large = real(std::ldexp(1.0, format.min_place() + float_fraction_bits));
    llvm::Value *bits_of_large = bits_of(large);
    llvm::Value *sum = b_.CreateFAdd(magnitude, large);
    llvm::Value *subnormal = b_.CreateSub(bits_of(sum), bits_of_large);

    llvm::Constant *min_normal = real(std::ldexp(1.0, 1 - format.bias));
    llvm::Value *code = b_.CreateSelect(b_.CreateFCmpOLT(magnitude, min_normal), subnormal, normal);
    code = b_.CreateOr(code, b_.CreateAnd(b_.CreateLShr(bits_of(number), 24), 0x80));
    code = b_.CreateSelect(b_.CreateFCmpUNO(number, number), b_.getInt32(no_number), code);
    return b_.CreateTrunc(code, b_.getInt8Ty());
  }

  // Converts a double to a float, rounded to odd.
  llvm::Value *float_to_odd(llvm::Value *number) {
    llvm::Value *rounded = b_.CreateFPTrunc(number, b_.getFloatTy());
    llvm::Value *back = b_.CreateFPExt(rounded, b_.getDoubleTy());
    llvm::Value *is_exact = b_.CreateFCmpUEQ(back, number);
    llvm::Value *size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, number);
    llvm::Value *size_of_back = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back);
    llvm::Value *too_large = b_.CreateFCmpOGT(size_of_back, size);
    llvm::Value *bits = bits_of(rounded);
    llvm::Value *towards_zero = b_.CreateSub(bits, b_.CreateZExt(too_large, b_.getInt32Ty()));
    bits = b_.CreateSelect(is_exact, bits, b_.CreateOr(towards_zero, 1));
    return b_.CreateBitCast(bits, b_.getFloatTy());
  }

private:
  llvm::Constant *real(double value) { return llvm::ConstantFP::get(b_.getFloatTy(), value); }
  llvm::Value *bits_of(llvm::Value *number) { return b_.CreateBitCast(number, b_.getInt32Ty()); }

  llvm::IRBuilder<> &b_;
  Elem elem_;
};

// Calls `convert` with two of `values` at a time and splits the pair that it returns. An odd last
// value is paired with itself.
template <typename Convert>
std::vector<llvm::Value *> by_pairs(llvm::IRBuilder<> &builder,
                                    const std::vector<llvm::Value *> &values, Convert convert) {
  std::vector<llvm::Value *> results;
  for (size_t i = 0; i < values.size(); i += 2) {
    llvm::Value *pair = convert(values[i], values[std::min(i + 1, values.size() - 1)]);
    for (uint64_t half = 0; half < 2 && i + half < values.size(); half++)
      results.push_back(builder.CreateExtractElement(pair, half));
  }
  return results;
}

} // namespace

std::vector<llvm::Value *> halves_of(llvm::IRBuilder<> &builder, const Gpu &gpu, Elem elem,
                                     const std::vector<llvm::Value *> &codes) {
  if (gpu.has_fp8 && elem == Elem::e4m3)
    return by_pairs(builder, codes, [&](llvm::Value *low, llvm::Value *high) {
      llvm::Type *i32 = builder.getInt32Ty();
      llvm::Value *upper = builder.CreateShl(builder.CreateZExt(high, i32), 8);
      llvm::Value *pair = builder.CreateOr(builder.CreateZExt(low, i32), upper);
      return builder.CreateBitCast(call_target_op(builder, TargetOp::cvt_f16x2_e4m3x2, {pair}),
                                   llvm::FixedVectorType::get(builder.getHalfTy(), 2));
    });
  std::vector<llvm::Value *> halves;
  for (llvm::Value *code : codes)
    halves.push_back(Conversions(builder, elem).half_of(code));
  return halves;
}

std::vector<llvm::Value *> codes_of(llvm::IRBuilder<> &builder, const Gpu &gpu, Elem elem,
                                    std::vector<llvm::Value *> numbers) {
  Conversions conversions(builder, elem);
  for (llvm::Value *&number : numbers)
    if (number->getType()->isDoubleTy())
      number = conversions.float_to_odd(number);
  if (gpu.has_fp8)
    return by_pairs(builder, numbers, [&](llvm::Value *low, llvm::Value *high) {
      TargetOp op = elem == Elem::e4m3 ? TargetOp::cvt_e4m3x2 : TargetOp::cvt_e5m2x2;
      llvm::Value *pair = call_target_op(builder, op, {low, high});
      return builder.CreateBitCast(builder.CreateTrunc(pair, builder.getInt16Ty()),
                                   llvm::FixedVectorType::get(builder.getInt8Ty(), 2));
    });
  for (llvm::Value *&number : numbers)
    number = conversions.code_of(number);
  return numbers;
}

llvm::Constant *code_of(llvm::LLVMContext &context, Elem elem, double number) {
  llvm::Type *type = llvm::Type::getInt8Ty(context);
  if (std::isnan(number))
    return llvm::ConstantInt::get(type, no_number);
  double largest = format_of(elem).largest;
  llvm::APFloat value(std::clamp(number, -largest, largest));
  bool loses_digits;
  value.convert(elem == Elem::e4m3 ? llvm::APFloat::Float8E4M3FN() : llvm::APFloat::Float8E5M2(),
                llvm::APFloat::rmNearestTiesToEven, &loses_digits);
  return llvm::ConstantInt::get(context, value.bitcastToAPInt());
}

} // namespace tritonc
