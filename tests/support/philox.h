// Philox4x32-10 as in the paper of its authors: the reference for tests.

#pragma once

#include <array>
#include <cstdint>

namespace tritonc::test {

using RandomWords = std::array<uint32_t, 4>;

inline RandomWords philox(RandomWords counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; round++) {
    uint64_t first = 0xD2511F53ull * counter[0], second = 0xCD9E8D57ull * counter[2];
    counter = {uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
               uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

/// The result of the built-in function `philox`.
inline RandomWords philox(uint64_t seed, uint64_t offset) {
  return philox({uint32_t(offset), uint32_t(offset >> 32), 0, 0},
                {uint32_t(seed), uint32_t(seed >> 32)});
}

/// The value that the built-in function `random_uniform` computes from a word.
inline float uniform(uint32_t word) {
  int32_t number = int32_t(word);
  return float(number < 0 ? ~number : number) * 0x1.fffffep-32f;
}

} // namespace tritonc::test
