// The cases of the table test. A case has an operator, the types of its operands, and their form
// (tile, scalar, column and row, five axes). It consists of a few lines of Triton-C that store
// their results, and of a function that returns the expected results.
//
// All kernels have the same parameters: for each type one input and one output pointer. An input
// has these regions of `count` values each:
//
//     wide        edge values, and values of all magnitudes
//     wide_too    other values of the same kind
//     moderate    floats from -8 to 8, integers from 0 to 7
//     small       integers from 0 to 3, also for floats, so that sums are exact
//     ones        1, rarely 2, so that products are exact
//
// Program p uses `tile` values of a region, from p * tile on.

#pragma once

#include "numbers.h"

#include <functional>
#include <vector>

namespace table {

inline constexpr int tile = 64, programs = 16, count = tile * programs;

enum Region { wide, wide_too, moderate, small, ones, region_count };

/// The kernels' inputs.
class Inputs {
public:
  explicit Inputs(uint64_t seed);
  const Number &at(Type type, Region region, int i) const {
    return numbers_[size_t(type)][size_t(region)][size_t(i)];
  }
  /// The memory of the type's input parameter.
  std::vector<unsigned char> bytes(Type type) const;

private:
  std::vector<Number> numbers_[type_count][region_count];
};

/// An expected value, and the maximum absolute error.
struct Expected {
  Number number;
  double error = 0;
};

struct Case {
  std::string name;
  Type result;
  int results = tile; // per program
  /// Statements. `OUT` = the address of the results, i = 0 ... 64, r = 0 ... 8.
  std::string body;
  std::function<Expected(const Inputs &, int program, int result)> expected;
};

/// All cases. Adjacent cases are similar.
std::vector<Case> all_cases();

/// The number of cases in one kernel.
inline constexpr int cases_of_kernel = 64;

} // namespace table
