// Computes a tensor core's dot product by definition, one result at a time. See accumulation.h.
//
// mma_tile.cpp computes the same for whole tiles and is tested against this file. It calls this
// file for infinities, NaN, and values with too different exponents.

#include "accumulation.h"

#include <bit>
#include <cmath>
#include <limits>

namespace tritonc::emulator::models {

Accumulation accumulation(unsigned sm, Instruction instruction, Input a) {
  int bytes = int(bytes_of(a));
  bool fp8 = bytes == 1;
  if (sm < 89)
    return {24, 16 / bytes, 23};
  if (sm < 90)
    return fp8 ? Accumulation{13, 16, 13} : Accumulation{24, 16 / bytes, 23};
  if (sm < 100) {
    if (fp8 && instruction == Instruction::wgmma)
      return {13, 32, 13};
    return {25, fp8 ? 16 : 32 / bytes, 23, fp8};
  }
  if (sm < 120 && fp8 && instruction == Instruction::mma)
    return {25, 16, 23, true};
  return {25, 32 / bytes, 23};
}

namespace {

// value = significand * 2^(exponent - 23)
struct Parts {
  int64_t significand; // signed
  int exponent;        // of zero: far below all others
};

constexpr int exponent_of_zero = -100'000;

// Min exponent that terms are aligned to.
constexpr int min_largest = -133;

Parts parts(float value, int min_exponent) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  int exponent = int(bits >> 23 & 0xff) - 127;
  int64_t significand = bits & 0x7f'ffff;
  if (exponent == -127)
    exponent = -126;
  else
    significand |= 0x80'0000;
  if (significand == 0)
    return {0, exponent_of_zero};
  if (exponent < min_exponent) {
    significand >>= min_exponent - exponent; // exact: the type has no lower bits
    exponent = min_exponent;
  }
  return {bits >> 31 ? -significand : significand, exponent};
}

int64_t shifted_right(int64_t magnitude, int by) { return by > 63 ? 0 : magnitude >> by; }

// sum * 2^unit, truncated to a float with `mantissa_bits`.
float cut_off(int64_t sum, int unit, int mantissa_bits) {
  if (sum == 0)
    return 0;
  uint64_t magnitude = sum < 0 ? uint64_t(-sum) : uint64_t(sum);
  int top = 63 - std::countl_zero(magnitude);
  int exponent = top + unit;
  // Exponent of the result's last bit.
  int last = (exponent < -126 ? -126 : exponent) - mantissa_bits;
  int drop = last - unit;
  if (drop > 0)
    magnitude = drop > 63 ? 0 : magnitude >> drop << drop;
  if (magnitude == 0)
    return 0; // an H200 returns +0 here, never -0
  // Exact, because at most 24 bits are left. A value too large for a float becomes infinity.
  double result = std::ldexp(double(magnitude), unit);
  return float(sum < 0 ? -result : result);
}

float fused_block(const Accumulation &how, unsigned k, const float *a, unsigned stride_a, int min_a,
                  const float *b, unsigned stride_b, int min_b, float c) {
  // Checks for infinities and NaN, and computes the result in that case.
  double plain = c;
  bool finite = std::isfinite(c);
  for (unsigned i = 0; i < k; i++) {
    double x = a[i * stride_a], y = b[i * stride_b];
    finite &= std::isfinite(x) && std::isfinite(y);
    plain += x * y;
  }
  if (!finite)
    return std::isnan(plain) ? std::bit_cast<float>(0x7fff'ffffu) : float(plain);

  Parts accumulator = parts(c, -126);
  int largest = accumulator.exponent < min_largest ? min_largest : accumulator.exponent;
  for (unsigned i = 0; i < k; i++) {
    int exponent = parts(a[i * stride_a], min_a).exponent + parts(b[i * stride_b], min_b).exponent;
    largest = exponent > largest ? exponent : largest;
  }
  // Terms are integers in units of 2^(largest - fraction_bits).
  auto cut = [](int64_t significand, int drop) {
    int64_t magnitude = significand < 0 ? -significand : significand;
    magnitude = drop >= 0 ? shifted_right(magnitude, drop) : magnitude << -drop;
    return significand < 0 ? -magnitude : magnitude;
  };
  int64_t sum =
      cut(accumulator.significand, largest - accumulator.exponent + 23 - how.fraction_bits);
  for (unsigned i = 0; i < k; i++) {
    Parts x = parts(a[i * stride_a], min_a), y = parts(b[i * stride_b], min_b);
    sum += cut(x.significand * y.significand,
               largest - (x.exponent + y.exponent) + 46 - how.fraction_bits);
  }
  return cut_off(sum, largest - how.fraction_bits, how.mantissa_bits);
}

} // namespace

float added(float c, float sum) {
  float result = c + sum;
  return result != result ? std::bit_cast<float>(0x7fff'ffffu) : result;
}

float fused_dot(const Accumulation &how, unsigned k, const float *a, unsigned stride_a,
                int min_exponent_a, const float *b, unsigned stride_b, int min_exponent_b,
                float c) {
  if (how.unpacked) {
    constexpr int min_value = min_exponent(Input::f16);
    float sum = 0;
    for (unsigned half = 0; half < 2; half++) {
      float x[16], y[16];
      for (unsigned i = 0; i < 16; i++) {
        unsigned at = i / 2 * 4 + 2 * half + i % 2;
        x[i] = a[at * stride_a];
        y[i] = b[at * stride_b];
      }
      sum = fused_block(how, 16, x, 1, min_value, y, 1, min_value, sum);
    }
    return added(c, sum);
  }
  for (unsigned done = 0; done < k; done += unsigned(how.block)) {
    unsigned now = k - done < unsigned(how.block) ? k - done : unsigned(how.block);
    c = fused_block(how, now, a + done * stride_a, stride_a, min_exponent_a, b + done * stride_b,
                    stride_b, min_exponent_b, c);
  }
  return c;
}

} // namespace tritonc::emulator::models
