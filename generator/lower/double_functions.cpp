// exp and log of doubles. See double_functions.h.
//
// exp: x = k ln 2 + r, |r| <= ln 2 / 2, so that e^x = 2^k e^r; e^r by its Taylor series. ln 2 is
// kept in two parts, of which the first has so few digits that k times it is exact (W. J. Cody and
// W. Waite, "Software Manual for the Elementary Functions", 1980).
//
// 2^x: x = k + r / ln 2, with the same r.
//
// log: x = 2^k m, sqrt(1/2) <= m < sqrt(2); with f = (m - 1) / (m + 1), ln m = 2 artanh f =
// 2 f + 2 f^3 / 3 + 2 f^5 / 5 + ...
//
// Where the series end, the next term is below 2^-57 of the result. GPU and host compute the same,
// bit by bit, since both have fma.
//
// Tested by tests/lower/double_functions_test.cpp.

#include "lower/double_functions.h"

#include <initializer_list>
#include <limits>

namespace tritonc {
namespace {

constexpr double log2_of_e = 0x1.71547652b82fep0, sqrt_of_2 = 0x1.6a09e667f3bcdp0;
constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45; // 42 bits; the rest
constexpr double infinity = std::numeric_limits<double>::infinity();

class DoubleMath {
public:
  explicit DoubleMath(llvm::IRBuilder<> &builder) : b_(builder) {}

  llvm::Value *exp(llvm::Value *x) {
    // Beyond these it is 0 or infinity. A NaN becomes one of them here, and is put back at the end.
    llvm::Value *inside = b_.CreateMinNum(b_.CreateMaxNum(x, real(-746)), real(710));
    llvm::Value *k =
        b_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, b_.CreateFMul(inside, real(log2_of_e)));
    llvm::Value *r = fma(k, real(-ln2_low), fma(k, real(-ln2_high), inside));
    return exp(x, k, r);
  }

  llvm::Value *exp2(llvm::Value *x) {
    llvm::Value *inside = b_.CreateMinNum(b_.CreateMaxNum(x, real(-1076)), real(1025));
    llvm::Value *k = b_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, inside);
    llvm::Value *rest = b_.CreateFSub(inside, k); // exact
    return exp(x, k, fma(rest, real(ln2_high), b_.CreateFMul(rest, real(ln2_low))));
  }

  llvm::Value *log(llvm::Value *x) {
    llvm::Value *is_subnormal = b_.CreateFCmpOLT(x, real(0x1p-1022));
    llvm::Value *normal = b_.CreateSelect(is_subnormal, b_.CreateFMul(x, real(0x1p54)), x);
    llvm::Value *bits = b_.CreateBitCast(normal, b_.getInt64Ty());
    // The bits of sqrt(1/2) are taken off, and the digits' put back: those above it carry into k.
    constexpr int64_t root = 0x3fe6a09e667f3bcd;
    llvm::Value *above = b_.CreateSub(bits, b_.getInt64(root));
    llvm::Value *power = b_.CreateAShr(above, 52);
    llvm::Value *digits = b_.CreateSub(bits, b_.CreateShl(power, 52));
    llvm::Value *m = b_.CreateBitCast(digits, b_.getDoubleTy());
    power = b_.CreateSub(power, b_.CreateSelect(is_subnormal, b_.getInt64(54), b_.getInt64(0)));
    llvm::Value *k = b_.CreateSIToFP(power, b_.getDoubleTy());

    llvm::Value *less = b_.CreateFSub(m, real(1)); // exact
    llvm::Value *f = b_.CreateFDiv(less, b_.CreateFAdd(m, real(1)));
    llvm::Value *square = b_.CreateFMul(f, f), *series = real(2. / 23);
    for (double odd : {21., 19., 17., 15., 13., 11., 9., 7., 5., 3.})
      series = fma(series, square, real(2 / odd));
    // 2 f = less - f less, which says more of it than the rounded quotient does.
    llvm::Value *small = b_.CreateFMul(f, fma(series, square, b_.CreateFNeg(less)));
    llvm::Value *rest = fma(k, real(ln2_low), small);
    llvm::Value *result = fma(k, real(ln2_high), b_.CreateFAdd(less, rest));

    result = b_.CreateSelect(b_.CreateFCmpOEQ(x, real(infinity)), x, result);
    result = b_.CreateSelect(b_.CreateFCmpOEQ(x, real(0)), real(-infinity), result);
    llvm::Value *none = real(std::numeric_limits<double>::quiet_NaN());
    return b_.CreateSelect(b_.CreateFCmpULT(x, real(0)), none, result);
  }

private:
  // 2^k e^r; x itself if that is no number.
  llvm::Value *exp(llvm::Value *x, llvm::Value *k, llvm::Value *r) {
    llvm::Value *result = real(1.0 / 6227020800); // 1 / 13!
    for (double factorial :
         {479001600., 39916800., 3628800., 362880., 40320., 5040., 720., 120., 24., 6., 2., 1., 1.})
      result = fma(result, r, real(1 / factorial));
    // 2^k may be too large or too small for a double, 2^(k/2) is not.
    llvm::Value *power = b_.CreateFPToSI(k, b_.getInt64Ty()), *half = b_.CreateAShr(power, 1);
    result = b_.CreateFMul(result, power_of_2(half));
    result = b_.CreateFMul(result, power_of_2(b_.CreateSub(power, half)));
    return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, result);
  }
  llvm::Value *real(double value) { return llvm::ConstantFP::get(b_.getDoubleTy(), value); }
  llvm::Value *fma(llvm::Value *x, llvm::Value *y, llvm::Value *z) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {b_.getDoubleTy()}, {x, y, z});
  }
  // Of an integer from -1022 to 1023.
  llvm::Value *power_of_2(llvm::Value *k) {
    llvm::Value *bits = b_.CreateShl(b_.CreateAdd(k, b_.getInt64(1023)), 52);
    return b_.CreateBitCast(bits, b_.getDoubleTy());
  }

  llvm::IRBuilder<> &b_;
};

} // namespace

llvm::Value *exp_of_double(llvm::IRBuilder<> &builder, llvm::Value *x) {
  return DoubleMath(builder).exp(x);
}

llvm::Value *exp2_of_double(llvm::IRBuilder<> &builder, llvm::Value *x) {
  return DoubleMath(builder).exp2(x);
}

llvm::Value *log_of_double(llvm::IRBuilder<> &builder, llvm::Value *x) {
  return DoubleMath(builder).log(x);
}

} // namespace tritonc
