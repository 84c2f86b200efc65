// How tensor cores add up products of floating-point numbers: not as IEEE 754 does.
//
// NVIDIA documents no more than that the result has at least single precision. What follows is
// what measurements found and models reproduce bit for bit ("MMA-Sim: Bit-Accurate Reference Model
// of Tensor Cores and Matrix Cores", arXiv 2511.10909; "Accurate Models of NVIDIA Tensor Cores",
// arXiv 2512.07004). A dot product is cut along k into blocks. For each block, with the
// accumulator as one more term:
//
//   1. every product is exact; its exponent is the sum of the operands' exponents, and its
//      significand, up to 4, isn't normalised. Subnormal operands have the exponent of the
//      smallest normal number of their type;
//   2. all terms are aligned to the largest exponent among those that aren't zero, but -133 at
//      least, and cut off (toward zero) behind `fraction_bits` bits;
//   3. the sum of what is left is exact;
//   4. it is normalised and cut off to `mantissa_bits` bits: the accumulator of the next block.
//
// Infinities and NaN are as one expects, all NaN are 0x7fffffff. So is overflow: infinity. A sum
// that is zero is +0, and so is one that is too small for a float, be it negative.
//
// Hopper and the data center's Blackwell have fp8 for wgmma and tcgen05 only. There ptxas makes of
// an mma.sync of fp8 two of f16: all elements become halves, of every four neighbours along k the
// first two are of the one block, the others of the next; what the two add to zero is added to C as
// any floats are. That is ptxas 13.0, and what an H200 then does; 12.6 has either block begin at
// zero, and adds them. Of numbers whose sums aren't exact the last bits may differ, therefore.
//
// Two consequences for tests. Where all terms are multiples of some number q, and the sum of their
// magnitudes is at most 2^exact_bits q, the result is exact and no order matters: integers below
// 2^24, but for fp8 on Ada and Hopper only below 2^13. Else the error of a block of L products is
// at most (L + 1) 2^(E - fraction_bits) + 2^-mantissa_bits |sum|, E being the largest exponent.

#pragma once

#include <cstdint>

namespace tritonc::emulator::models {

/// What a register of an operand holds.
enum class Input : std::uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8 };

constexpr unsigned bytes_of(Input input) {
  return input == Input::tf32 ? 4 : input == Input::f16 || input == Input::bf16 ? 2 : 1;
}
constexpr bool is_integer(Input input) { return input == Input::s8 || input == Input::u8; }

/// The exponent of the smallest normal number.
constexpr int least_exponent(Input input) {
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
  bool unpacked = false; // fp8 as halves, in two blocks, then C: see above

  /// See above.
  int exact_bits() const { return mantissa_bits < 23 ? mantissa_bits : 24; }
};

/// Which tensor core instruction.
enum class Instruction : std::uint8_t { mma, wgmma };

/// `sm`: 75, 80, 86, 89, 90, 100 ... `a` is floating-point; the other operand has the same width.
Accumulation accumulation(unsigned sm, Instruction instruction, Input a);

/// The definition: c + a[0] b[0] + a[1] b[1] + ... up to `k`, block after block. `stride_a`,
/// `stride_b`: from one element to the next. The operands are numbers of their types, as floats.
/// Unpacked, k is 32 and the least exponents are those of halves, whatever is said here.
float fused_dot(const Accumulation &how, unsigned k, const float *a, unsigned stride_a,
                int least_exponent_a, const float *b, unsigned stride_b, int least_exponent_b,
                float c);

/// The sum of two floats as GPUs have it: every NaN is 0x7fffffff.
float added(float c, float sum);

} // namespace tritonc::emulator::models
