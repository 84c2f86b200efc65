// How tensor cores accumulate floating-point products: not as IEEE 754 does.
//
// NVIDIA documents only that the result has at least single precision. The rules below come from
// measurements, and models reproduce them bit for bit ("MMA-Sim: Bit-Accurate Reference Model of
// Tensor Cores and Matrix Cores", arXiv 2511.10909; "Accurate Models of NVIDIA Tensor Cores", arXiv
// 2512.07004). The tensor core cuts a dot product along k into blocks. For each block, with the
// accumulator as an additional term:
//
//   1. every product is exact; its exponent is the sum of the operands' exponents, and its
//      significand, up to 4, isn't normalized. Subnormal operands have the exponent of the
//      smallest normal number of their type;
//   2. all terms are aligned to the largest exponent of the nonzero terms, but at least -133, and
//      truncated (toward zero) after `fraction_bits` bits;
//   3. the sum of the truncated terms is exact;
//   4. the sum is normalized and truncated to `mantissa_bits` bits: the next block's accumulator.
//
// Infinities and NaN propagate as in IEEE 754; every NaN is 0x7fffffff. Overflow gives infinity. A
// sum that is zero, or too small for a float, is +0, even if it is negative.
//
// Hopper and data-center Blackwell support fp8 only in wgmma and tcgen05. There ptxas compiles an
// fp8 mma.sync to two f16 mma.sync, after converting all elements to f16. Of every four adjacent
// elements along k, the first two belong to the first block and the other two to the second. The
// two blocks accumulate one after the other, from zero. A normal float addition then adds C. This
// is ptxas
// 13.0, measured on an H200. With ptxas 12.6, each block starts at zero, and their results are
// added. So the last bits may differ between the two if sums are not exact.
//
// Two consequences for tests:
//
//   - If all terms are multiples of a number q, and the sum of their magnitudes is at most
//     2^exact_bits q, the result is exact and order does not matter. So integers are exact below
//     2^24, but for fp8 on Ada and Hopper only below 2^13.
//   - Otherwise the error of a block of L products is at most
//     (L + 1) 2^(E - fraction_bits) + 2^-mantissa_bits |sum|, where E is the largest exponent.

#pragma once

#include <cstdint>

namespace tritonc::emulator::models {

/// The element type of an operand.
enum class Input : std::uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8 };

constexpr unsigned bytes_of(Input input) {
  return input == Input::tf32 ? 4 : input == Input::f16 || input == Input::bf16 ? 2 : 1;
}
constexpr bool is_integer(Input input) { return input == Input::s8 || input == Input::u8; }

/// The exponent of the type's smallest normal value.
constexpr int min_exponent(Input input) {
  switch (input) {
  case Input::f16:
  case Input::e5m2:
    return -14;
  case Input::e4m3:
    return -6;
  default:
    return -126;
  }
}

struct Accumulation {
  int fraction_bits = 25;
  int block = 16; // products
  int mantissa_bits = 23;
  bool unpacked = false; // fp8 converted to f16, in two blocks, then C: see above

  /// Integers below 2^exact_bits are exact; see above.
  int exact_bits() const { return mantissa_bits < 23 ? mantissa_bits : 24; }
};

/// The tensor core instruction.
enum class Instruction : std::uint8_t { mma, wgmma };

/// `sm`: 75, 80, 86, 89, 90, 100 ... `a` is floating-point; the other operand has the same width.
Accumulation accumulation(unsigned sm, Instruction instruction, Input a);

/// The definition: c + a[0] b[0] + a[1] b[1] + ... for `k` products, block after block. `stride_a`,
/// `stride_b`: elements between consecutive operands. The operands are values of their types,
/// widened to float. If how.unpacked, requires k == 32 and uses f16's min exponent instead of the
/// arguments.
float fused_dot(const Accumulation &how, unsigned k, const float *a, unsigned stride_a,
                int min_exponent_a, const float *b, unsigned stride_b, int min_exponent_b, float c);

/// The sum of two floats as on GPUs: every NaN is 0x7fffffff.
float added(float c, float sum);

} // namespace tritonc::emulator::models
