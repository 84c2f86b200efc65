/// @file
/// The narrow floating-point types of kernels in host memory: `half`, `bfloat16`, `float8_e4m3`,
/// `float8_e5m2`.
///
/// They are storage, not arithmetic: 16 or 8 bits with explicit conversions from and to float.
/// Kernel arguments and device memory use the same bits. The header needs no other header of the
/// runtime, and no library.
///
/// @par Example
/// @code{.cpp}
/// #include <tritonc/numbers.hpp>
///
/// #include <cstdio>
///
/// int main() {
///   tritonc::half third(1.0f / 3); // rounds to nearest, ties to even
///   std::printf("%.7f\n", float(third)); // 0.3332520
///   std::printf("%#x\n", third.bits); // 0x3555
///   std::printf("%g\n", float(tritonc::float8_e4m3(1000.0f))); // 448
/// }
/// @endcode
///
/// @par Conversions
/// Conversion to float is exact. Conversion from float rounds to nearest, ties to even, as the GPU
/// does. A value that rounds above the type's maximum becomes infinity. In `float8_e4m3`, which has
/// no infinity, it becomes 448. NaN stays NaN.

#pragma once

#include <cstdint>
#include <cstring>

namespace tritonc {
inline namespace v1 {

namespace detail {

/// Returns the value of type To with the same bytes.
template <typename To, typename From> To bits_as(From from) noexcept {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// A binary format, given by the widths of its fields. In a format without infinity, the maximum
/// exponent also encodes numbers, and only the pattern of all ones is NaN.
template <int ExponentBits, int MantissaBits, bool HasInfinity = true> struct format {
  static constexpr int bias = (1 << (ExponentBits - 1)) - 1;
  static constexpr int sign_shift = ExponentBits + MantissaBits;
  static constexpr std::uint32_t top_exponent = ((1u << ExponentBits) - 1) << MantissaBits;
  static constexpr std::uint32_t all_ones = (1u << sign_shift) - 1;
  static constexpr std::uint32_t nan =
      HasInfinity ? top_exponent | 1u << (MantissaBits - 1) : all_ones;
  static constexpr std::uint32_t largest = (HasInfinity ? top_exponent : all_ones) - 1;
  static constexpr std::uint32_t overflow = HasInfinity ? top_exponent : largest;

  /// Returns `value` / 2^shift, rounded to nearest, ties to even.
  static std::uint32_t rounded(std::uint32_t value, int shift) noexcept {
    if (shift > 25)
      return 0; // less than half a unit in the last place
    std::uint32_t odd = (value >> shift) & 1;
    return (value + (1u << (shift - 1)) - 1 + odd) >> shift;
  }

  static std::uint32_t narrowed(float number) noexcept {
    std::uint32_t bits = bits_as<std::uint32_t>(number);
    std::uint32_t sign = bits >> 31 << sign_shift;
    std::uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
      return sign | nan;
    if (magnitude == 0x7f800000)
      return sign | overflow;
    int exponent = int(magnitude >> 23) - 127 + bias;
    std::uint32_t result;
    if (exponent >= 1)
      result = rounded((std::uint32_t(exponent) << 23) | (magnitude & 0x7fffff), 23 - MantissaBits);
    else if (magnitude < 0x00800000 && bias != 127)
      result = 0; // float's subnormals are far below the other formats' smallest values
    else if (magnitude < 0x00800000)
      result = rounded(magnitude, 23 - MantissaBits);
    else
      result = rounded((magnitude & 0x7fffff) | 0x800000, 24 - MantissaBits - exponent);
    return sign | (result > largest ? overflow : result);
  }

  static float widened(std::uint32_t bits) noexcept {
    std::uint32_t sign = bits >> sign_shift << 31;
    std::uint32_t magnitude = bits & all_ones;
    if (HasInfinity ? magnitude > top_exponent : magnitude == all_ones)
      return bits_as<float>(sign | 0x7fc00000 | (magnitude << (23 - MantissaBits) & 0x3fffff));
    if (HasInfinity && magnitude == top_exponent)
      return bits_as<float>(sign | 0x7f800000);
    if (magnitude >> MantissaBits != 0) // move the fields to float's positions
      return bits_as<float>(
          sign | ((magnitude << (23 - MantissaBits)) + (std::uint32_t(127 - bias) << 23)));
    float last_place = bits_as<float>(std::uint32_t(128 - bias - MantissaBits) << 23);
    return bits_as<float>(sign | bits_as<std::uint32_t>(float(magnitude) * last_place));
  }
};

} // namespace detail

/// IEEE binary16, with the bits of CUDA's `__half`. Maximum 65504.
struct half {
  std::uint16_t bits; ///< 1 sign bit, 5 exponent bits, 10 mantissa bits.

  half() = default; ///< Leaves `bits` uninitialized.
  /// Rounds to nearest, ties to even.
  explicit half(float number) noexcept
      : bits(std::uint16_t(detail::format<5, 10>::narrowed(number))) {}
  /// Returns the same value. Exact.
  explicit operator float() const noexcept { return detail::format<5, 10>::widened(bits); }
};

/// The upper 16 bits of a float, with the bits of CUDA's `__nv_bfloat16`.
struct bfloat16 {
  std::uint16_t bits; ///< 1 sign bit, 8 exponent bits, 7 mantissa bits.

  bfloat16() = default; ///< Leaves `bits` uninitialized.
  /// Rounds to nearest, ties to even.
  explicit bfloat16(float number) noexcept
      : bits(std::uint16_t(detail::format<8, 7>::narrowed(number))) {}
  /// Returns the same value. Exact.
  explicit operator float() const noexcept {
    return detail::bits_as<float>(std::uint32_t(bits) << 16);
  }
};

/// An 8-bit number without infinity, with the bits of CUDA's `__nv_fp8_e4m3`. Maximum 448.
struct float8_e4m3 {
  std::uint8_t bits; ///< 1 sign bit, 4 exponent bits, 3 mantissa bits.

  float8_e4m3() = default; ///< Leaves `bits` uninitialized.
  /// Rounds to nearest, ties to even.
  explicit float8_e4m3(float number) noexcept
      : bits(std::uint8_t(detail::format<4, 3, false>::narrowed(number))) {}
  /// Returns the same value. Exact.
  explicit operator float() const noexcept { return detail::format<4, 3, false>::widened(bits); }
};

/// The upper 8 bits of a half, with the bits of CUDA's `__nv_fp8_e5m2`. Maximum 57344.
struct float8_e5m2 {
  std::uint8_t bits; ///< 1 sign bit, 5 exponent bits, 2 mantissa bits.

  float8_e5m2() = default; ///< Leaves `bits` uninitialized.
  /// Rounds to nearest, ties to even.
  explicit float8_e5m2(float number) noexcept
      : bits(std::uint8_t(detail::format<5, 2>::narrowed(number))) {}
  /// Returns the same value. Exact.
  explicit operator float() const noexcept { return detail::format<5, 2>::widened(bits); }
};

} // namespace v1
} // namespace tritonc
