// Values for measurements: random inputs, and the distance between two results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tritonc/tuner.hpp>

namespace tritonc::v1::tuner {

/// An element type.
struct Element {
  std::string_view name; // "f16"
  std::size_t bytes;
  /// Writes random values: floats uniformly from -1 to 1, or small integers.
  void (*fill)(void *to, std::size_t count, std::uint64_t seed);
  /// Writes one value.
  void (*set)(void *to, double value);
  /// Returns the Euclidean distance divided by the length of `first`. Infinite if integers differ,
  /// or if only one of two elements is finite.
  double (*distance)(const void *first, const void *second, std::size_t count);
  double tolerance; // max distance of the same computation in another order; 0: must be equal
};

/// Returns the type with this name; null if there is none.
const Element *find_element(std::string_view name);

} // namespace tritonc::v1::tuner
