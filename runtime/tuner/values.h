// Contents of memory for measurements: random numbers for inputs, and how far apart two results
// are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tritonc/tuner.hpp>

namespace tritonc::v1::tuner {

/// A type of elements.
struct Element {
  std::string_view name; // "f16"
  std::size_t bytes;
  /// Writes random numbers: floats uniformly from -1 to 1, small integers.
  void (*fill)(void *to, std::size_t count, std::uint64_t seed);
  /// Writes one number.
  void (*set)(void *to, double value);
  /// The distance between both relative to the length of the first (Euclidean). Infinite if
  /// integers differ at all, or if only one is a number.
  double (*distance)(const void *first, const void *second, std::size_t count);
  double tolerance; // of results of one computation in another order; 0: they must be the same
};

/// Null if it is none.
const Element *find_element(std::string_view name);

} // namespace tritonc::v1::tuner
