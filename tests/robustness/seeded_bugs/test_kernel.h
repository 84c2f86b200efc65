// Correct kernels with seeded bugs, which the emulator must find.
//
// A kernel is C++ code that calls the operations like compiled code. A bug is a switch in it: a
// missing barrier, a count off by one. `bug` 0 is the correct kernel. Kernels compute with small
// integers, so that results do not depend on the order of sums.

#pragma once

#include "models/numbers.h"
#include "unit/emulator/kernel.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tritonc::emulator::test {

/// How the emulator finds a bug: a kind of report, or wrong results.
enum By : unsigned {
  race = 1,
  unwritten = 2, // Report::Kind::uninitialized
  deadlock = 4,
  divergence = 8,
  misuse = 16,
  bounds = 32, // out_of_bounds, misaligned
  values = 64,
};

struct Bug {
  const char *name; // "no barrier after the wait"
  unsigned by;      // kinds that must occur, over all modes
};

struct TestKernel {
  const char *name;
  std::vector<Bug> bugs; // [i] is bug i + 1
  /// Runs the test kernel in a Kernel with its options set. Returns whether the results are
  /// correct; meaningless if a report ended the launch.
  std::function<bool(Kernel &, int bug)> run;
  /// Calls that may be removed, and why. `nth` call of the operation in the source, from 0.
  struct Needless {
    const char *operation;
    unsigned nth;
    const char *reason;
  };
  std::vector<Needless> needless = {};
};

TestKernel ampere_gemm();
TestKernel block_sum();
TestKernel hopper_gemm();
TestKernel persistent_gemm();
TestKernel bulk_reduce();
TestKernel copies_into_wgmma();
TestKernel named_barriers();
TestKernel shared_exchange();

/// Pseudo-random integers from -2 to 2.
inline int small_integer(uint32_t i, uint32_t j, uint32_t seed) {
  uint32_t x = (i * 0x9e3779b1u) ^ (j * 0x85ebca77u) ^ (seed * 0xc2b2ae3du);
  x ^= x >> 15;
  x *= 0x2c1b3c6du;
  x ^= x >> 13;
  return int(x % 5) - 2;
}

/// rows x columns f16 values, row-major.
inline std::vector<uint16_t> small_halves(uint32_t rows, uint32_t columns, uint32_t seed) {
  std::vector<uint16_t> matrix(size_t(rows) * columns);
  for (uint32_t i = 0; i < rows; i++)
    for (uint32_t j = 0; j < columns; j++)
      matrix[size_t(i) * columns + j] = models::to_half(float(small_integer(i, j, seed)));
  return matrix;
}

/// A rows x columns matrix product with inner dimension `depth`. The functions of (row, e) and
/// (column, e) give the operands.
template <typename A, typename B>
std::vector<float> sums_of_products(uint32_t rows, uint32_t columns, uint32_t depth, A a, B b) {
  std::vector<int> right(size_t(columns) * depth);
  for (uint32_t j = 0; j < columns; j++)
    for (uint32_t e = 0; e < depth; e++)
      right[size_t(j) * depth + e] = b(j, e);
  std::vector<int> left(depth);
  std::vector<float> sums;
  for (uint32_t i = 0; i < rows; i++) {
    for (uint32_t e = 0; e < depth; e++)
      left[e] = a(i, e);
    for (uint32_t j = 0; j < columns; j++) {
      int sum = 0;
      for (uint32_t e = 0; e < depth; e++)
        sum += left[e] * right[size_t(j) * depth + e];
      sums.push_back(float(sum));
    }
  }
  return sums;
}

} // namespace tritonc::emulator::test
