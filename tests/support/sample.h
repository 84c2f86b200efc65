// Chooses the part of a long sweep that an ordinary run tests.
//
// Each item has a random number, which depends only on the seed, the sweep and the item. So a new
// item does not change the choice among the others. tests/run sets the seed to the date: over weeks,
// the runs test all items. With doctest's option --no-skip, as in tests/campaign, a run tests them
// all at once.
//
//     TRITONC_SEED=20261124 build/release/bin/test_oracle    # repeats the run of that day
//
// Tested by tests/support/sample_test.cpp.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tritonc::test {

/// The value of TRITONC_SEED, any text. Default: "1".
std::string sample_seed();

/// A number that is the same on every machine: FNV-1a, mixed by the last steps of MurmurHash3.
inline uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text)
    hash = (hash ^ uint64_t(static_cast<unsigned char>(c))) * 0x100000001b3;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
  return hash ^ (hash >> 33);
}

class Sample {
public:
  /// `percent`: the share of items to take; 100 = all.
  Sample(std::string sweep, int percent, std::string seed)
      : sweep_(std::move(sweep)), percent_(percent), seed_(std::move(seed)) {}

  bool is_full() const { return percent_ >= 100; }

  /// A random number for the item.
  uint64_t number(std::string_view item) const {
    return hash_of(seed_ + '\n' + sweep_ + '\n' + std::string(item));
  }

  /// Whether to test the item; true for about `percent` of all items.
  bool takes(std::string_view item) const {
    return is_full() || number(item) / (UINT64_MAX / 100 + 1) < uint64_t(percent_);
  }

  /// The indexes of all items in random order, those that `takes` accepts first. A test that needs
  /// a certain result at least once goes on in this order until it has the result.
  std::vector<size_t> order(const std::vector<std::string> &items) const {
    std::vector<std::pair<uint64_t, size_t>> numbers;
    for (size_t i = 0; i < items.size(); i++)
      numbers.emplace_back(number(items[i]), i);
    std::sort(numbers.begin(), numbers.end());
    std::vector<size_t> indexes;
    for (auto [number, i] : numbers)
      indexes.push_back(i);
    return indexes;
  }

  /// The ascending indexes of the items to test, at least one unless there are no items.
  std::vector<size_t> some_of(const std::vector<std::string> &items) const {
    std::vector<size_t> indexes;
    for (size_t i : order(items))
      if (indexes.empty() || takes(items[i]))
        indexes.push_back(i);
    std::sort(indexes.begin(), indexes.end());
    return indexes;
  }

private:
  std::string sweep_;
  int percent_;
  std::string seed_;
};

/// The sample of this run, which it prints. With --no-skip it takes all items.
Sample sample_of_this_run(const std::string &sweep, int percent);

} // namespace tritonc::test
