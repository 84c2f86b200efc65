// The numbers in the matrices: what they are filled with, and how results are compared.
#pragma once

#include "rows.h"

#include <cstddef>
#include <vector>

namespace bench {

/// Numbers of the standard normal distribution, always the same ones.
std::vector<float> normal_numbers(std::size_t count);

/// As operands of the type, one after the other. int8 gets 32 times each number.
std::vector<unsigned char> as_operands(const std::vector<float> &numbers, Type type);

/// A byte to fill results with beforehand: what was not written shows in the comparison.
unsigned char poison(Type type);

struct Difference {
  double mean = 0;    // root of the mean square, relative to that of the peer's values
  double largest = 0; // of one element, relative to the same
};

/// Of two results of a product of this type. Not a number if one of them holds any that is not.
Difference difference(Type type, const void *ours, const void *peers, std::size_t count);

/// Whether two right products may differ so much: each element rounded differently, sums taken in
/// another order.
bool is_acceptable(Type type, const Difference &difference);

} // namespace bench
