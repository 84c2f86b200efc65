// The cases of the table test: an operator, the types of its operands, and the form in which they
// come. Each is a few lines of Triton-C that leave their results in a slot of memory, and a
// function that says what must be there.
//
// All kernels have the same parameters: for each type what is read, and what is written. What is
// read are regions of `count` numbers each,
//
//     wide        edge values, then numbers of all sizes
//     wide_too    the same, others
//     moderate    floats from -8 to 8, integers from 0 to 7
//     small       integers from 0 to 3, of floats too, so that sums of some are exact
//     ones        1, rarely 2, so that products of some are exact
//
// and each program takes `tile` numbers of a region, by its number.

#pragma once

#include "numbers.h"

#include <functional>
#include <vector>

namespace table {

inline constexpr int tile = 64, programs = 16, count = tile * programs;

enum Region { wide, wide_too, moderate, small, ones, region_count };

/// What the kernels read.
class Inputs {
public:
  explicit Inputs(uint64_t seed);
  const Number &at(Type type, Region region, int i) const {
    return numbers_[size_t(type)][size_t(region)][size_t(i)];
  }
  /// The memory that the type's parameter points to.
  std::vector<unsigned char> bytes(Type type) const;

private:
  std::vector<Number> numbers_[type_count][region_count];
};

/// What must come out: `error` is how far off it may be.
struct Expected {
  Number number;
  double error = 0;
};

struct Case {
  std::string name;
  Type result;
  int results = tile; // of each program
  /// Statements; `OUT` is where the results begin, i is 0 ... 64, r is 0 ... 8.
  std::string body;
  std::function<Expected(const Inputs &, int program, int result)> expected;
};

/// All of them, in an order in which neighbors differ little.
std::vector<Case> all_cases();

/// Those of one kernel: from `first` on.
inline constexpr int cases_of_kernel = 64;

} // namespace table
