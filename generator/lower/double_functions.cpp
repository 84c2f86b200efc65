// Implements functions of doubles. See double_functions.h.
//
// exp: x = k ln 2 + r, |r| <= ln 2 / 2, so e^x = 2^k e^r. The Taylor series gives e^r. ln 2 has two
// parts; the first part has so few bits that k times it is exact (W. J. Cody and W. Waite,
// "Software Manual for the Elementary Functions", 1980).
//
// 2^x: x = k + r / ln 2, with the same r.
//
// log: x = 2^k m, sqrt(1/2) <= m < sqrt(2). With f = (m - 1) / (m + 1), ln m = 2 artanh f = 2 f + 2
// f^3 / 3 + 2 f^5 / 5 + ...
//
// sin, cos: x = k pi/2 + r, |r| <= pi/4. pi/2 has three parts, and the subtraction of the first
// part is exact. So r is accurate to 53 bits however near x is to a multiple of pi/2, as long as k
// is an integer of at most 45 bits. r has two parts. k mod 4 selects the series of sine or cosine.
//
// tanh: t / (t + 2) with t = e^(2x) - 1 by its series, for |x| < 0.55. Else 1 - 2 / (e^2|x| + 1),
// where the quotient and its error are less than half of the result.
//
// erf: its series for |x| < 1. Else 1 - e^(-x^2) g(x), and 1 from 6 on. g is a polynomial in (x -
// 2.5) / (x + 2.5) that interpolates erfc(x) e^(x^2) at the Chebyshev nodes of [1, 6], with an
// error within 2^-52. The subtracted term is less than 0.16.
//
// pow: e^(y ln x). y ln x may be as large as 745, and its absolute error must be below 2^-53. So ln
// x is computed as above, but in two parts: f, f^2 and the factor of f^3 have two parts each. The
// remaining terms are less than 2^-11 of the sum and accurate to 53 bits.
//
// Each series ends where the next term is below 2^-57 of the result. GPU and host compute the same
// bits, because both have fma.
//
// Tested by tests/unit/lower/double_functions_test.cpp.

#include "lower/double_functions.h"

#include <initializer_list>
#include <limits>
#include <utility>

namespace tritonc {
namespace {

constexpr double log2_of_e = 0x1.71547652b82fep0, sqrt_of_2 = 0x1.6a09e667f3bcdp0;
constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45; // 42 bits; rest
constexpr double pi_half_high = 0x1.921fb54442d18p0, pi_half_middle = 0x1.1a62633145c07p-54,
                 pi_half_low = -0x1.f1976b7ed8fbcp-110, two_over_pi = 0x1.45f306dc9c883p-1;
constexpr double infinity = std::numeric_limits<double>::infinity();

class DoubleMath {
public:
  explicit DoubleMath(llvm::IRBuilder<> &builder) : b_(builder) {}

  llvm::Value *exp(llvm::Value *x) {
    // Outside this range the result is 0 or infinity. A NaN becomes a bound here; the end restores
    // it.
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
    Scaled scaled = scale(x);
    llvm::Value *m = scaled.digits, *k = scaled.power;
    llvm::Value *less = b_.CreateFSub(m, real(1)); // exact
    llvm::Value *f = b_.CreateFDiv(less, b_.CreateFAdd(m, real(1)));
    llvm::Value *square = b_.CreateFMul(f, f), *series = real(2. / 23);
    for (double odd : {21., 19., 17., 15., 13., 11., 9., 7., 5., 3.})
      series = fma(series, square, real(2 / odd));
    // 2 f = less - f less is more accurate than the rounded quotient.
    llvm::Value *small = b_.CreateFMul(f, fma(series, square, b_.CreateFNeg(less)));
    llvm::Value *rest = fma(k, real(ln2_low), small);
    llvm::Value *result = fma(k, real(ln2_high), b_.CreateFAdd(less, rest));

    result = b_.CreateSelect(b_.CreateFCmpOEQ(x, real(infinity)), x, result);
    result = b_.CreateSelect(b_.CreateFCmpOEQ(x, real(0)), real(-infinity), result);
    llvm::Value *none = real(std::numeric_limits<double>::quiet_NaN());
    return b_.CreateSelect(b_.CreateFCmpULT(x, real(0)), none, result);
  }

  // sin(x + quarters * pi/2)
  llvm::Value *sine(llvm::Value *x, int quarters) {
    llvm::Value *is_inside = b_.CreateFCmpOLE(abs(x), real(0x1p45));
    llvm::Value *turns = rint(b_.CreateFMul(x, real(two_over_pi)));
    llvm::Value *first = fma(turns, real(-pi_half_high), x); // exact
    Parts second = product(turns, real(pi_half_middle));
    Parts r = sum(first, b_.CreateFNeg(second.high));
    r = quick_sum(r.high, fma(turns, real(-pi_half_low), b_.CreateFSub(r.low, second.low)));
    // Without a subtraction, zero keeps its sign.
    llvm::Value *is_small = b_.CreateFCmpOEQ(turns, real(0));
    r.high = b_.CreateSelect(is_small, x, r.high);
    r.low = b_.CreateSelect(is_small, real(0), r.low);

    llvm::Value *z = b_.CreateFMul(r.high, r.high);
    llvm::Value *s = series(z, {-1. / 6, 1. / 120, -1. / 5040, 1. / 362880, -1. / 39916800,
                                1. / 6227020800, -1. / 1307674368000, 1. / 355687428096000});
    // sin(r + l) = sin r + l cos r
    llvm::Value *slope = b_.CreateFMul(r.low, fma(z, real(-0.5), real(1)));
    s = b_.CreateFAdd(r.high, fma(b_.CreateFMul(r.high, z), s, slope));
    s = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, s, r.high); // -0 too
    llvm::Value *c = series(z, {1. / 24, -1. / 720, 1. / 40320, -1. / 3628800, 1. / 479001600,
                                -1. / 87178291200, 1. / 20922789888000});
    // 1 - z/2 is rounded; add the rounding error to the rest.
    llvm::Value *half = b_.CreateFMul(z, real(0.5)), *near = b_.CreateFSub(real(1), half);
    llvm::Value *lost = b_.CreateFSub(b_.CreateFSub(real(1), near), half);
    llvm::Value *small = fma(r.high, b_.CreateFNeg(r.low), lost);
    llvm::Value *rest = fma(b_.CreateFMul(z, z), c, small);
    c = b_.CreateFAdd(near, rest);

    llvm::Value *quarter =
        b_.CreateAdd(b_.CreateFPToSI(turns, b_.getInt64Ty()), b_.getInt64(uint64_t(quarters)));
    llvm::Value *result = b_.CreateSelect(is_set(quarter, 1), c, s);
    llvm::Value *negated = b_.CreateFNeg(result);
    result = b_.CreateSelect(is_set(quarter, 2), negated, result);
    return b_.CreateSelect(is_inside, result, nothing());
  }

  llvm::Value *tanh(llvm::Value *x) {
    llvm::Value *y = b_.CreateFMul(abs(x), real(2));
    llvm::Value *t = real(0);
    double factorial = 121645100408832000; // 19!
    for (int n = 19; n >= 2; factorial /= n--)
      t = fma(t, y, real(1 / factorial));
    t = fma(b_.CreateFMul(y, y), t, y);
    llvm::Value *small = b_.CreateFDiv(t, b_.CreateFAdd(t, real(2)));
    llvm::Value *quotient = b_.CreateFDiv(real(2), b_.CreateFAdd(exp(y), real(1)));
    llvm::Value *large = b_.CreateFSub(real(1), quotient);
    llvm::Value *is_small = b_.CreateFCmpOLT(abs(x), real(0.55));
    return with_sign_of(b_.CreateSelect(is_small, small, large), x);
  }

  llvm::Value *erf(llvm::Value *x) {
    llvm::Value *p = series(b_.CreateFMul(x, x),
                            {0x1.06eba8214db69p-3,   -0x1.812746b0379e7p-2,  0x1.ce2f21a042be2p-4,
                             -0x1.b82ce31288b51p-6,  0x1.565bcd0e6a53fp-8,   -0x1.c02db40040b86p-11,
                             0x1.f9a326f9b89b7p-14,  -0x1.f4d25c3e0c2ebp-17, 0x1.b9e6c9dc651a3p-20,
                             -0x1.5f742ec43e71ap-23, 0x1.fcc5720624c1cp-27,  -0x1.51d7181c5d36dp-30,
                             0x1.9e6ad5e55a730p-34,  -0x1.d8453cb0c46eap-38, 0x1.f683ae4a97007p-42,
                             -0x1.f56f071a885cfp-46, 0x1.d70b3537f4765p-50,  -0x1.a2007af3447f6p-54,
                             0x1.5f7919bc67b8cp-58,  -0x1.18cc8a061c479p-62});
    llvm::Value *small = fma(x, p, x);
    llvm::Value *inside = b_.CreateMinNum(abs(x), real(6));
    llvm::Value *divisor = b_.CreateFAdd(inside, real(2.5));
    llvm::Value *u = b_.CreateFDiv(b_.CreateFSub(inside, real(2.5)), divisor);
    llvm::Value *g =
        series(u, {0x1.afbb3f3b7343bp-3, -0x1.7ca88dec217a6p-2, 0x1.01c11a735cd99p-2,
                   -0x1.0011543716c9bp-3, 0x1.470ba1f67e4f3p-5, -0x1.05bb2fe5b9447p-8,
                   -0x1.5a5716cd2b488p-9, 0x1.cb3b61b2f73b9p-11, 0x1.def2c8454f03cp-13,
                   -0x1.0e46678de05fbp-13, -0x1.1ebdcc253f1abp-15, 0x1.384c7c85f405ep-16,
                   0x1.fad8951cd7c81p-18, -0x1.3472778d38e8bp-19, -0x1.e3b8c3407cc04p-20,
                   0x1.4ddcaf4dae0f3p-24, 0x1.7192050274bd2p-22, 0x1.2afb1c52ac24cp-24});
    llvm::Value *power = exp(b_.CreateFNeg(b_.CreateFMul(inside, inside)));
    llvm::Value *large = fma(b_.CreateFNeg(power), g, real(1));
    large = b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, large);
    llvm::Value *is_small = b_.CreateFCmpOLT(abs(x), real(1));
    return with_sign_of(b_.CreateSelect(is_small, small, large), x);
  }

  llvm::Value *pow(llvm::Value *x, llvm::Value *y) {
    llvm::Value *size = abs(x);
    Parts log = precise_log(size);
    Parts exponent = product(y, log.high);
    exponent.low = fma(y, log.low, exponent.low);
    // Outside this range the result is 0 or infinity, and the low part is not finite.
    llvm::Value *is_usual = b_.CreateFCmpOLT(abs(exponent.high), real(800));
    llvm::Value *low = b_.CreateSelect(is_usual, exponent.low, real(0));
    llvm::Value *inside = b_.CreateMinNum(b_.CreateMaxNum(exponent.high, real(-746)), real(710));
    llvm::Value *k = rint(b_.CreateFMul(inside, real(log2_of_e)));
    llvm::Value *r = fma(k, real(-ln2_high), inside);
    r = b_.CreateFAdd(r, fma(k, real(-ln2_low), low));
    llvm::Value *power = exp(exponent.high, k, r);

    // 1 to any power is 1, and any value to the power of 0.
    llvm::Value *y_is_zero = b_.CreateFCmpOEQ(y, real(0));
    llvm::Value *is_one = b_.CreateOr(b_.CreateFCmpOEQ(size, real(1)), y_is_zero);
    llvm::Value *x_is_one = b_.CreateFCmpOEQ(x, real(1));
    is_one = b_.CreateAnd(is_one, b_.CreateOr(b_.CreateFCmpORD(y, y), x_is_one));
    power = b_.CreateSelect(is_one, real(1), power);
    // If y is odd, the result has the sign of x. From 2^53 on all doubles are even.
    llvm::Value *half = b_.CreateFMul(y, real(0.5));
    llvm::Value *is_integer = b_.CreateFCmpOEQ(trunc(y), y);
    llvm::Value *is_odd = b_.CreateAnd(is_integer, b_.CreateFCmpUNE(trunc(half), half));
    llvm::Value *result = b_.CreateSelect(is_odd, with_sign_of(power, x), power);
    llvm::Value *is_finite = b_.CreateFCmpONE(size, real(infinity));
    llvm::Value *is_fraction = b_.CreateNot(is_integer);
    llvm::Value *has_none = b_.CreateAnd(b_.CreateFCmpOLT(x, real(0)), is_fraction);
    return b_.CreateSelect(b_.CreateAnd(has_none, is_finite), nothing(), result);
  }

private:
  // A value in two parts; the second is at most half of the last place of the first.
  struct Parts {
    llvm::Value *high, *low;
  };
  Parts product(llvm::Value *x, llvm::Value *y) {
    llvm::Value *high = b_.CreateFMul(x, y);
    return {high, fma(x, y, b_.CreateFNeg(high))};
  }
  Parts product(const Parts &x, const Parts &y) {
    Parts made = product(x.high, y.high);
    made.low = fma(x.low, y.high, fma(x.high, y.low, made.low));
    return quick_sum(made.high, made.low);
  }
  Parts sum(llvm::Value *x, llvm::Value *y) {
    llvm::Value *high = b_.CreateFAdd(x, y), *of_y = b_.CreateFSub(high, x);
    llvm::Value *of_x = b_.CreateFSub(high, of_y);
    llvm::Value *lost_of_y = b_.CreateFSub(y, of_y);
    return {high, b_.CreateFAdd(b_.CreateFSub(x, of_x), lost_of_y)};
  }
  // Requires |x| >= |y|.
  Parts quick_sum(llvm::Value *x, llvm::Value *y) {
    llvm::Value *high = b_.CreateFAdd(x, y);
    return {high, b_.CreateFSub(y, b_.CreateFSub(high, x))};
  }
  Parts sum(const Parts &x, const Parts &y) {
    Parts made = sum(x.high, y.high);
    return quick_sum(made.high, b_.CreateFAdd(made.low, b_.CreateFAdd(x.low, y.low)));
  }

  // x = 2^power digits, with sqrt(1/2) <= digits < sqrt(2).
  struct Scaled {
    llvm::Value *digits, *power;
  };

  // ln x of a positive number; infinite for 0 and infinity, NaN for NaN.
  Parts precise_log(llvm::Value *x) {
    Scaled scaled = scale(x);
    llvm::Value *m = scaled.digits, *k = scaled.power;
    // f = (m - 1) / (m + 1), whose numerator is exact.
    llvm::Value *less = b_.CreateFSub(m, real(1));
    Parts more = sum(m, real(1)), f;
    f.high = b_.CreateFDiv(less, more.high);
    llvm::Value *left = fma(b_.CreateFNeg(f.high), more.high, less);
    left = fma(b_.CreateFNeg(f.high), more.low, left);
    f.low = b_.CreateFDiv(left, more.high);
    Parts square = product(f, f);
    llvm::Value *rest = real(2. / 27);
    for (double odd : {25., 23., 21., 19., 17., 15., 13., 11., 9., 7., 5.})
      rest = fma(rest, square.high, real(2 / odd));
    // 2 artanh f = 2 f + f^3 (2/3 + f^2 rest)
    Parts third = sum(real(2. / 3), b_.CreateFMul(square.high, rest));
    third.low = b_.CreateFAdd(third.low, real(0x1.5555555555555p-55));
    Parts tail = product(product(f, square), third);
    Parts twice = {b_.CreateFMul(f.high, real(2)), b_.CreateFMul(f.low, real(2))};
    Parts of_power = product(k, real(ln2_low));
    of_power = sum({b_.CreateFMul(k, real(ln2_high)), real(0)}, of_power);
    Parts log = sum(of_power, sum(twice, tail));
    for (auto [number, of_number] : {std::pair{0.0, -infinity}, std::pair{infinity, infinity}}) {
      llvm::Value *is = b_.CreateFCmpOEQ(x, real(number));
      log.high = b_.CreateSelect(is, real(of_number), log.high);
      log.low = b_.CreateSelect(is, real(0), log.low);
    }
    log.high = b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, log.high);
    return log;
  }

  Scaled scale(llvm::Value *x) {
    llvm::Value *is_subnormal = b_.CreateFCmpOLT(x, real(0x1p-1022));
    llvm::Value *normal = b_.CreateSelect(is_subnormal, b_.CreateFMul(x, real(0x1p54)), x);
    llvm::Value *bits = b_.CreateBitCast(normal, b_.getInt64Ty());
    // Subtract the bits of sqrt(1/2), so that digits from sqrt(2) on carry into the power.
    constexpr int64_t root = 0x3fe6a09e667f3bcd;
    llvm::Value *above = b_.CreateSub(bits, b_.getInt64(root));
    llvm::Value *power = b_.CreateAShr(above, 52);
    llvm::Value *digits = b_.CreateSub(bits, b_.CreateShl(power, 52));
    power = b_.CreateSub(power, b_.CreateSelect(is_subnormal, b_.getInt64(54), b_.getInt64(0)));
    return {b_.CreateBitCast(digits, b_.getDoubleTy()), b_.CreateSIToFP(power, b_.getDoubleTy())};
  }

  llvm::Value *abs(llvm::Value *x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
  llvm::Value *rint(llvm::Value *x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, x); }
  llvm::Value *trunc(llvm::Value *x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x); }
  llvm::Value *with_sign_of(llvm::Value *size, llvm::Value *sign) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, size, sign);
  }
  llvm::Value *nothing() { return real(std::numeric_limits<double>::quiet_NaN()); }
  llvm::Value *is_set(llvm::Value *bits, uint64_t mask) {
    return b_.CreateICmpNE(b_.CreateAnd(bits, b_.getInt64(mask)), b_.getInt64(0));
  }
  // The coefficient of x^0 comes first.
  llvm::Value *series(llvm::Value *x, std::initializer_list<double> coefficients) {
    llvm::Value *sum = nullptr;
    for (auto c = std::rbegin(coefficients); c != std::rend(coefficients); ++c)
      sum = sum ? fma(sum, x, real(*c)) : real(*c);
    return sum;
  }

  // 2^k e^r; x itself if x is NaN.
  llvm::Value *exp(llvm::Value *x, llvm::Value *k, llvm::Value *r) {
    llvm::Value *result = real(1.0 / 6227020800); // 1 / 13!
    for (double factorial :
         {479001600., 39916800., 3628800., 362880., 40320., 5040., 720., 120., 24., 6., 2., 1., 1.})
      result = fma(result, r, real(1 / factorial));
    // 2^k may overflow or underflow, 2^(k/2) does not.
    llvm::Value *power = b_.CreateFPToSI(k, b_.getInt64Ty()), *half = b_.CreateAShr(power, 1);
    result = b_.CreateFMul(result, power_of_2(half));
    result = b_.CreateFMul(result, power_of_2(b_.CreateSub(power, half)));
    return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, result);
  }
  llvm::Value *real(double value) { return llvm::ConstantFP::get(b_.getDoubleTy(), value); }
  llvm::Value *fma(llvm::Value *x, llvm::Value *y, llvm::Value *z) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {b_.getDoubleTy()}, {x, y, z});
  }
  // 2^k for an integer from -1022 to 1023.
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

llvm::Value *sin_of_double(llvm::IRBuilder<> &builder, llvm::Value *x) {
  return DoubleMath(builder).sine(x, 0);
}

llvm::Value *cos_of_double(llvm::IRBuilder<> &builder, llvm::Value *x) {
  return DoubleMath(builder).sine(x, 1);
}

llvm::Value *tanh_of_double(llvm::IRBuilder<> &builder, llvm::Value *x) {
  return DoubleMath(builder).tanh(x);
}

llvm::Value *erf_of_double(llvm::IRBuilder<> &builder, llvm::Value *x) {
  return DoubleMath(builder).erf(x);
}

llvm::Value *pow_of_doubles(llvm::IRBuilder<> &builder, llvm::Value *x, llvm::Value *y) {
  return DoubleMath(builder).pow(x, y);
}

} // namespace tritonc
