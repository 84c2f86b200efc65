// Random operands for the tests of models: bits of several kinds of values.

#pragma once

#include "models/accumulation.h"
#include "models/numbers.h"

#include <cmath>
#include <cstdint>
#include <random>

namespace tritonc::emulator::models {

/// The kind of a matmul's operand values.
enum class Kind {
  integers, // small, so that all sums are exact
  uniform,  // -1 to 1
  spread,   // exponents over the type's whole range
  bits,     // any bits, including infinities, NaN, and subnormal values
};
inline constexpr Kind all_kinds[] = {Kind::integers, Kind::uniform, Kind::spread, Kind::bits};

/// The value of an operand's element as a float.
inline float value_of(Input input, uint32_t bits) {
  switch (input) {
  case Input::f16:
    return from_half(uint16_t(bits));
  case Input::bf16:
    return from_bfloat16(uint16_t(bits));
  case Input::tf32:
    return from_tf32(bits);
  case Input::e4m3:
    return from_e4m3(uint8_t(bits));
  case Input::e5m2:
    return from_e5m2(uint8_t(bits));
  case Input::s8:
    return float(int8_t(bits));
  case Input::u8:
    return float(uint8_t(bits));
  }
  return 0;
}

inline uint32_t bits_of(Input input, float value) {
  switch (input) {
  case Input::f16:
    return to_half(value);
  case Input::bf16:
    return to_bfloat16(value);
  case Input::tf32:
    return to_tf32(value);
  case Input::e4m3:
    return to_e4m3(value);
  case Input::e5m2:
    return to_e5m2(value);
  case Input::s8:
    return uint8_t(int(value));
  case Input::u8:
    return uint8_t(int(value));
  }
  return 0;
}

class Random {
public:
  explicit Random(unsigned seed) : engine_(seed) {}

  uint32_t bits() { return uint32_t(engine_()); }
  /// From 0 to n - 1.
  unsigned below(unsigned n) { return bits() % n; }
  float uniform() { return std::uniform_real_distribution<float>(-1, 1)(engine_); }

  uint32_t element(Input input, Kind kind) {
    if (is_integer(input))
      return bits() & 0xff;
    unsigned width = 8 * bytes_of(input);
    uint32_t mask = width == 32 ? ~0u : (1u << width) - 1;
    switch (kind) {
    case Kind::integers:
      return bits_of(input, float(int(below(9))) - 4);
    case Kind::uniform:
      return bits_of(input, uniform());
    case Kind::spread: {
      uint32_t result = bits() & mask;
      return std::isfinite(value_of(input, result)) ? result : 0;
    }
    case Kind::bits:
      return below(8) == 0 ? special(input) : bits() & mask;
    }
    return 0;
  }

  float accumulator(Kind kind) {
    switch (kind) {
    case Kind::integers:
      return float(int(below(1001))) - 500;
    case Kind::uniform:
      return uniform();
    case Kind::spread: {
      float value = std::bit_cast<float>(bits());
      return std::isfinite(value) ? value : 0;
    }
    case Kind::bits:
      return below(8) == 0 ? (below(2) ? 0.0f : -0.0f) : std::bit_cast<float>(bits());
    }
    return 0;
  }

private:
  uint32_t special(Input input) {
    constexpr float values[] = {0.0f, -0.0f, INFINITY, -INFINITY};
    return bits_of(input, values[below(4)]);
  }
  std::mt19937 engine_;
};

} // namespace tritonc::emulator::models
