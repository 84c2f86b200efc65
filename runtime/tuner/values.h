// Values for measurements: random inputs, small changes of these inputs, and the distances between
// the elements of two results.
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
  /// Changes each value at random by up to `change` times the value, or to an adjacent value if
  /// that is larger. Zero and the smallest values do not change. Null for integers.
  void (*perturb)(void *values, std::size_t count, double change, std::uint64_t seed);
  /// Changes each value by the max change of `perturb`, away from zero. Null for integers.
  void (*enlarge)(void *values, std::size_t count, double change);
  /// Sets bounds[i] to the distance between two elements if the distance is larger. The distance is
  /// infinite if only one of them is finite. Two NaN are equal. Null for integers.
  void (*widen)(float *bounds, const void *first, const void *second, std::size_t count);
  /// Returns the max of |first[i] - second[i]| / (bounds[i] + the type's rounding error); 0 if all
  /// elements are equal. `bounds` is null if all bounds are 0. The result is infinite for different
  /// integers, or if only one of two elements is finite. Ignores elements with an infinite bound.
  double (*excess)(const void *first, const void *second, const float *bounds, std::size_t count);
  /// The relative change of a kernel's inputs that error bounds need if it has this type; 0 for
  /// integers.
  double change;
  /// The part of the effect of the change that error bounds need: less than 1 for 8-bit floats,
  /// because their adjacent values differ by more than `change`.
  double weight;

  bool is_integer() const { return !perturb; }
};

/// Returns the type with this name; null if there is none.
const Element *find_element(std::string_view name);

} // namespace tritonc::v1::tuner
