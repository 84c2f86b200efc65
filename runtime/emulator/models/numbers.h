// Conversions of the small float types of GPUs by their bits: f16, bf16, tf32, and the two 8-bit
// floats.
//
// Widening is exact. Narrowing rounds to nearest, ties to even. It converts every NaN to the GPU's
// NaN (PTX ISA, "cvt"): all bits but the sign are ones. Every value of these types is a float. So a
// sum or product of two values, rounded first to float and then to the type, is correctly rounded:
// 24 bits are at least 2 * 11 + 2.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tritonc::emulator::models {

/// The result for values too large for a type: infinity (NaN if the type has no infinity), or the
/// largest finite value, as with `.satfinite`.
enum class Overflow : std::uint8_t { infinity, largest };

/// A binary float format, given by the widths of its fields. Without infinity, the highest exponent
/// also holds finite values, and all ones is the only NaN.
template <int ExponentBits, int MantissaBits, bool HasInfinity = true> struct Format {
  static constexpr int mantissa_bits = MantissaBits;
  static constexpr int bias = (1 << (ExponentBits - 1)) - 1;
  /// Exponent of the smallest normal value.
  static constexpr int min_exponent = 1 - bias;
  static constexpr std::uint32_t sign = 1u << (ExponentBits + MantissaBits);
  static constexpr std::uint32_t not_a_number = sign - 1;
  static constexpr std::uint32_t top_exponent = ((1u << ExponentBits) - 1) << MantissaBits;
  static constexpr std::uint32_t infinity = HasInfinity ? top_exponent : not_a_number;
  static constexpr std::uint32_t largest = infinity - 1;

  static constexpr float widened(std::uint32_t bits) {
    std::uint32_t float_sign = (bits & sign) != 0 ? 0x8000'0000u : 0;
    std::uint32_t magnitude = bits & (sign - 1);
    if (HasInfinity ? magnitude > top_exponent : magnitude == not_a_number)
      return std::bit_cast<float>(0x7fff'ffffu);
    if (HasInfinity && magnitude == top_exponent)
      return std::bit_cast<float>(float_sign | 0x7f80'0000u);
    if (magnitude >> MantissaBits != 0) { // normal: move the fields to their positions in float
      std::uint32_t moved = magnitude << (23 - MantissaBits);
      return std::bit_cast<float>(float_sign | (moved + (std::uint32_t(127 - bias) << 23)));
    }
    if constexpr (bias == 127) // subnormals of float, too
      return std::bit_cast<float>(float_sign | magnitude << (23 - MantissaBits));
    float last_place = std::bit_cast<float>(std::uint32_t(127 + min_exponent - MantissaBits) << 23);
    float value = float(magnitude) * last_place;
    return float_sign != 0 ? -value : value;
  }

  static constexpr std::uint32_t narrowed(float number, Overflow overflow) {
    std::uint32_t bits = std::bit_cast<std::uint32_t>(number);
    std::uint32_t own_sign = bits >> 31 != 0 ? sign : 0;
    std::uint32_t magnitude = bits & 0x7fff'ffffu;
    if (magnitude > 0x7f80'0000u)
      return not_a_number;
    std::uint32_t too_large = own_sign | (overflow == Overflow::largest ? largest : infinity);
    if (magnitude == 0x7f80'0000u)
      return too_large;
    // The significand as an integer, and the number of its low bits to drop.
    int exponent = int(magnitude >> 23);
    std::uint32_t significand = magnitude & 0x7f'ffffu;
    if (exponent != 0)
      significand |= 0x80'0000u;
    else
      exponent = 1;
    int own_exponent = exponent - 127 + bias; // with the type's bias
    int drop = 23 - MantissaBits + (own_exponent < 1 ? 1 - own_exponent : 0);
    if (drop > 25)
      return own_sign; // less than half of the last place
    std::uint32_t odd = significand >> drop & 1;
    std::uint32_t kept = (significand + (1u << (drop - 1)) - 1 + odd) >> drop;
    // The hidden bit adds one to the exponent, as does a carry out of the mantissa.
    std::uint32_t result =
        kept + (own_exponent < 1 ? 0 : std::uint32_t(own_exponent - 1) << MantissaBits);
    return result > largest ? too_large : own_sign | result;
  }
};

using Half = Format<5, 10>;
using BFloat16 = Format<8, 7>;
using E4M3 = Format<4, 3, false>;
using E5M2 = Format<5, 2>;

constexpr float from_half(std::uint16_t bits) { return Half::widened(bits); }
constexpr float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t(bits) << 16);
}
constexpr float from_e4m3(std::uint8_t bits) { return E4M3::widened(bits); }
constexpr float from_e5m2(std::uint8_t bits) { return E5M2::widened(bits); }

constexpr std::uint16_t to_half(float number, Overflow overflow = Overflow::infinity) {
  return std::uint16_t(Half::narrowed(number, overflow));
}
constexpr std::uint16_t to_bfloat16(float number, Overflow overflow = Overflow::infinity) {
  return std::uint16_t(BFloat16::narrowed(number, overflow));
}
/// The GPU's conversions to 8 bits saturate to the largest finite value.
constexpr std::uint8_t to_e4m3(float number, Overflow overflow = Overflow::largest) {
  return std::uint8_t(E4M3::narrowed(number, overflow));
}
constexpr std::uint8_t to_e5m2(float number, Overflow overflow = Overflow::largest) {
  return std::uint8_t(E5M2::narrowed(number, overflow));
}

/// `cvt.rna.tf32.f32`: rounds a float to 10 mantissa bits, ties away from zero; the low bits are
/// zero. A NaN keeps its upper bits.
constexpr std::uint32_t to_tf32(float number) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(number);
  std::uint32_t magnitude = bits & 0x7fff'ffffu;
  if (magnitude >= 0x7f80'0000u)
    return bits & ~0x1fffu;
  return (bits + 0x1000u) & ~0x1fffu;
}

/// A tf32 register as a tensor core reads it: the 13 lowest bits are ignored.
constexpr float from_tf32(std::uint32_t bits) { return std::bit_cast<float>(bits & ~0x1fffu); }

/// Additions as on GPUs: rounded once, to the type.
constexpr std::uint16_t add_half(std::uint16_t a, std::uint16_t b) {
  return to_half(from_half(a) + from_half(b));
}
constexpr std::uint16_t add_bfloat16(std::uint16_t a, std::uint16_t b) {
  return to_bfloat16(from_bfloat16(a) + from_bfloat16(b));
}

} // namespace tritonc::emulator::models
