// Random choices that depend only on the seed, so they are the same on every platform.
//
// The generator is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
// generators", OOPSLA 2014). The distributions are implemented here, because the standard library's
// distributions differ between implementations.

#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tritonc::random {

/// 64 bits that depend on every bit of `value`.
inline uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

class Draw {
public:
  explicit Draw(uint64_t seed) : state_(mixed(seed + 0x9e3779b97f4a7c15)) {}

  uint64_t bits() { return mixed(state_ += 0x9e3779b97f4a7c15); }
  /// An integer from `low` to `high`, inclusive. Slightly uneven for ranges near 2^64.
  int64_t between(int64_t low, int64_t high) {
    return int64_t(uint64_t(low) + bits() % (uint64_t(high) - uint64_t(low) + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  /// An index in a list of `count` elements.
  size_t index(size_t count) { return size_t(between(0, int64_t(count) - 1)); }
  template <typename T> const T &pick(const std::vector<T> &list) {
    return list[index(list.size())];
  }
  template <typename T> T pick(std::initializer_list<T> list) {
    return list.begin()[index(list.size())];
  }
  /// An index with probability proportional to its weight. Requires a nonzero weight.
  size_t weighted(const std::vector<int> &weights) {
    int64_t sum = 0;
    for (int weight : weights)
      sum += weight;
    int64_t at = between(0, sum - 1);
    for (size_t i = 0;; i++)
      if ((at -= weights[i]) < 0)
        return i;
  }

private:
  uint64_t state_;
};

} // namespace tritonc::random
