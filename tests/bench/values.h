// The values of the matrices: fills operands and compares results.
#pragma once

#include "rows.h"

#include <cstddef>
#include <vector>

namespace bench {

/// Values of the standard normal distribution, with a fixed seed.
std::vector<float> normal_numbers(std::size_t count);

/// Converts the values to contiguous operands of the type. For int8, multiplies each value by 32.
std::vector<unsigned char> as_operands(const std::vector<float> &numbers, Type type);

/// A byte to fill results before a launch, so that the comparison finds unwritten elements.
unsigned char poison(Type type);

struct Difference {
  double mean = 0;    // root mean square of the error / root mean square of the peer's values
  double largest = 0; // largest error of an element, relative to the same
};

/// Compares two results of a matmul of this type. NaN if a result contains NaN.
Difference difference(Type type, const void *ours, const void *peers, std::size_t count);

/// Whether the difference can be due to rounding and to another order of summation.
bool is_acceptable(Type type, const Difference &difference);

} // namespace bench
