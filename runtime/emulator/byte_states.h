// Tests the states of many bytes at once.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tritonc::emulator {

/// Whether each of the `bytes` states has all of `bits`.
inline bool all_have(const uint8_t *states, size_t bytes, uint8_t bits) {
  const uint64_t pattern = bits * 0x0101010101010101u;
  uint64_t common = pattern;
  for (; bytes >= 8; states += 8, bytes -= 8) {
    uint64_t word;
    std::memcpy(&word, states, 8);
    common &= word;
  }
  for (; bytes > 0; states++, bytes--)
    common &= *states * 0x0101010101010101u;
  return common == pattern;
}

/// The index of the first state that lacks a bit of `bits`. Requires that one exists.
inline size_t first_without(const uint8_t *states, uint8_t bits) {
  size_t i = 0;
  while ((states[i] & bits) == bits)
    i++;
  return i;
}

} // namespace tritonc::emulator
