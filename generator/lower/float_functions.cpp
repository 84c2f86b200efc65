// Implements functions of floats. See float_functions.h.
//
// sin, cos: x = k pi/2 + r, |r| <= pi/4. The subtraction is in double, with pi/2 in two parts (106
// bits). So r is accurate to a float however near x is to a multiple of pi/2, as long as a double
// represents the integer k. k mod 4 selects a polynomial in r^2 for sine or cosine.
//
// tanh: x + x^3 p(x^2) for |x| < 0.625. Else 1 - 2 / (e^2|x| + 1), where the quotient and its error
// are less than half of the result.
//
// erf: x + x p(x^2) for |x| < 1. Else 1 - 2^q(|x|), where the polynomial q approximates log2 erfc
// up to 4. From 4 on the result is 1.
//
// pow: e^(y ln x) in double. |y ln x| is less than 128, so its 53 bits are enough for a float.
//
// All polynomials interpolate the function at the Chebyshev nodes of their interval, with
// coefficients rounded to float. A comment next to each has its maximum error.
//
// Tested by tests/unit/lower/float_functions_test.cpp.

#include "lower/float_functions.h"

#include "lower/double_functions.h"

#include <initializer_list>
#include <limits>

namespace tritonc {
namespace {

constexpr double pi_half_high = 0x1.921fb54442d18p0, pi_half_low = 0x1.1a62633145c07p-54;
constexpr double two_over_pi = 0x1.45f306dc9c883p-1, log2_of_e = 0x1.71547652b82fep0;

class FloatMath {
public:
  explicit FloatMath(llvm::IRBuilder<> &builder) : b_(builder) {}

  // sin(x + quarters * pi/2)
  llvm::Value *sine(llvm::Value *x, int quarters) {
    llvm::Value *wide = b_.CreateFPExt(x, b_.getDoubleTy());
    llvm::Value *is_inside = b_.CreateFCmpOLE(abs(x), real(0x1p50));
    llvm::Value *turns = unary(llvm::Intrinsic::rint, b_.CreateFMul(wide, wide_real(two_over_pi)));
    turns = b_.CreateSelect(is_inside, turns, wide_real(0));
    llvm::Value *rest =
        fma(turns, wide_real(-pi_half_low), fma(turns, wide_real(-pi_half_high), wide));
    // Without a subtraction, zero keeps its sign.
    llvm::Value *is_small = b_.CreateFCmpOEQ(turns, wide_real(0));
    llvm::Value *r = b_.CreateFPTrunc(b_.CreateSelect(is_small, wide, rest), b_.getFloatTy());

    llvm::Value *z = b_.CreateFMul(r, r);
    // Error within 4e-9 for sin r / r, 6e-10 for cos r.
    llvm::Value *s =
        polynomial(z, {-0x1.555556p-3, 0x1.111108p-7, -0x1.a00ecap-13, 0x1.6cb098p-19});
    s = with_sign_of(fma(b_.CreateFMul(r, z), s, r), r); // -0 too
    llvm::Value *c =
        polynomial(z, {-0.5, 0x1.555556p-5, -0x1.6c16b2p-10, 0x1.a00e7ap-16, -0x1.23c074p-22});
    c = fma(z, c, real(1));

    llvm::Value *quarter = b_.CreateTrunc(b_.CreateFPToSI(turns, b_.getInt64Ty()), b_.getInt32Ty());
    quarter = b_.CreateAdd(quarter, b_.getInt32(uint32_t(quarters)));
    llvm::Value *result = b_.CreateSelect(is_set(quarter, 1), c, s);
    llvm::Value *negated = b_.CreateFNeg(result);
    result = b_.CreateSelect(is_set(quarter, 2), negated, result);
    return b_.CreateSelect(is_inside, result, nothing());
  }

  llvm::Value *tanh(llvm::Value *x) {
    llvm::Value *z = b_.CreateFMul(x, x);
    // Error within 2e-8 for tanh x / x.
    llvm::Value *p = polynomial(
        z, {-0x1.55551ep-2, 0x1.110466p-3, -0x1.b7f208p-5, 0x1.507a4ep-6, -0x1.6efccep-8});
    llvm::Value *small = fma(b_.CreateFMul(x, z), p, x);
    llvm::Value *power = exp2(b_.CreateFMul(abs(x), real(2 * log2_of_e)));
    llvm::Value *quotient = b_.CreateFDiv(real(2), b_.CreateFAdd(power, real(1)));
    llvm::Value *large = b_.CreateFSub(real(1), quotient);
    llvm::Value *is_small = b_.CreateFCmpOLT(abs(x), real(0.625));
    return with_sign_of(b_.CreateSelect(is_small, small, large), x);
  }

  llvm::Value *erf(llvm::Value *x) {
    llvm::Value *z = b_.CreateFMul(x, x);
    // Error within 2e-8 for erf x / x - 1.
    llvm::Value *p = polynomial(z, {0x1.06eba8p-3, -0x1.812746p-2, 0x1.ce2f08p-4, -0x1.b829c8p-6,
                                    0x1.562a6p-8, -0x1.bccf66p-11, 0x1.d8875p-14, -0x1.445f48p-17});
    llvm::Value *small = fma(x, p, x);
    // Error within 1e-6 for log2 erfc x, which is at most -2.6.
    llvm::Value *q =
        polynomial(b_.CreateMinNum(abs(x), real(4)),
                   {0x1.e44c06p-12, -0x1.a16dd6p+0, -0x1.d2b45cp-1, -0x1.453f38p-3, 0x1.38427ep-5,
                    -0x1.c20334p-8, 0x1.c36a9cp-11, -0x1.16b3bp-14, 0x1.3d029ep-19});
    llvm::Value *large = b_.CreateFSub(real(1), exp2(q));
    large = b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, large);
    llvm::Value *is_small = b_.CreateFCmpOLT(abs(x), real(1));
    return with_sign_of(b_.CreateSelect(is_small, small, large), x);
  }

  llvm::Value *pow(llvm::Value *x, llvm::Value *y) {
    llvm::Value *exponent = b_.CreateFPExt(y, b_.getDoubleTy());
    llvm::Value *log = log_of_double(b_, b_.CreateFPExt(abs(x), b_.getDoubleTy()));
    llvm::Value *power = exp_of_double(b_, b_.CreateFMul(exponent, log));
    llvm::Value *size = b_.CreateFPTrunc(power, b_.getFloatTy());
    // 1 to any power is 1, and any value to the power of 0.
    llvm::Value *y_is_zero = b_.CreateFCmpOEQ(y, real(0));
    llvm::Value *is_one = b_.CreateOr(b_.CreateFCmpOEQ(abs(x), real(1)), y_is_zero);
    llvm::Value *x_is_one = b_.CreateFCmpOEQ(x, real(1));
    is_one = b_.CreateAnd(is_one, b_.CreateOr(b_.CreateFCmpORD(y, y), x_is_one));
    size = b_.CreateSelect(is_one, real(1), size);

    // If y is odd, the result has the sign of x. From 2^24 on all floats are even.
    llvm::Value *is_integer = b_.CreateFCmpOEQ(unary(llvm::Intrinsic::trunc, y), y);
    llvm::Value *is_narrow = b_.CreateFCmpOLT(abs(y), real(0x1p24));
    llvm::Value *whole = b_.CreateFPToSI(b_.CreateSelect(is_narrow, y, real(0)), b_.getInt32Ty());
    llvm::Value *is_odd = b_.CreateAnd(is_integer, is_set(whole, 1));
    llvm::Value *result = b_.CreateSelect(is_odd, with_sign_of(size, x), size);
    llvm::Value *is_finite =
        b_.CreateFCmpONE(abs(x), real(std::numeric_limits<double>::infinity()));
    llvm::Value *is_fraction = b_.CreateNot(is_integer);
    llvm::Value *has_none = b_.CreateAnd(b_.CreateFCmpOLT(x, real(0)), is_fraction);
    return b_.CreateSelect(b_.CreateAnd(has_none, is_finite), nothing(), result);
  }

private:
  llvm::Value *real(double value) { return llvm::ConstantFP::get(b_.getFloatTy(), value); }
  llvm::Value *wide_real(double value) { return llvm::ConstantFP::get(b_.getDoubleTy(), value); }
  llvm::Value *nothing() { return real(std::numeric_limits<double>::quiet_NaN()); }
  llvm::Value *unary(llvm::Intrinsic::ID id, llvm::Value *x) {
    return b_.CreateUnaryIntrinsic(id, x);
  }
  llvm::Value *abs(llvm::Value *x) { return unary(llvm::Intrinsic::fabs, x); }
  llvm::Value *with_sign_of(llvm::Value *size, llvm::Value *sign) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, size, sign);
  }
  llvm::Value *fma(llvm::Value *x, llvm::Value *y, llvm::Value *z) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
  }
  llvm::Value *is_set(llvm::Value *bits, uint32_t mask) {
    return b_.CreateICmpNE(b_.CreateAnd(bits, b_.getInt32(mask)), b_.getInt32(0));
  }

  // Uses the instruction of the GPU, accurate to 2 ulp (PTX ISA, ex2.approx).
  llvm::Value *exp2(llvm::Value *x) {
    llvm::CallInst *call = b_.CreateUnaryIntrinsic(llvm::Intrinsic::exp2, x);
    call->setHasApproxFunc(true);
    return call;
  }

  // The coefficient of x^0 comes first.
  llvm::Value *polynomial(llvm::Value *x, std::initializer_list<double> coefficients) {
    llvm::Value *sum = nullptr;
    for (auto c = std::rbegin(coefficients); c != std::rend(coefficients); ++c)
      sum = sum ? fma(sum, x, real(*c)) : real(*c);
    return sum;
  }

  llvm::IRBuilder<> &b_;
};

} // namespace

llvm::Value *sin_of_float(llvm::IRBuilder<> &builder, llvm::Value *x) {
  return FloatMath(builder).sine(x, 0);
}

llvm::Value *cos_of_float(llvm::IRBuilder<> &builder, llvm::Value *x) {
  return FloatMath(builder).sine(x, 1);
}

llvm::Value *tanh_of_float(llvm::IRBuilder<> &builder, llvm::Value *x) {
  return FloatMath(builder).tanh(x);
}

llvm::Value *erf_of_float(llvm::IRBuilder<> &builder, llvm::Value *x) {
  return FloatMath(builder).erf(x);
}

llvm::Value *pow_of_floats(llvm::IRBuilder<> &builder, llvm::Value *x, llvm::Value *y) {
  return FloatMath(builder).pow(x, y);
}

llvm::Value *rounded_away(llvm::IRBuilder<> &builder, llvm::Value *x) {
  llvm::Type *type = x->getType();
  llvm::Value *whole = builder.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
  llvm::Value *fraction =
      builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, builder.CreateFSub(x, whole)); // exact
  llvm::Value *one =
      builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::get(type, 1), x);
  llvm::Value *is_half = builder.CreateFCmpOGE(fraction, llvm::ConstantFP::get(type, 0.5));
  return builder.CreateSelect(is_half, builder.CreateFAdd(whole, one), whole);
}

} // namespace tritonc
