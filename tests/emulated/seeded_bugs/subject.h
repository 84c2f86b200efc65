// Right kernels, and ways to make them wrong: what the emulator has to find.
//
// A kernel is written in C++ against the operations, as a compiler would arrange them. A bug is a
// switch in it: one barrier left out, one count off by one. `bug` 0 is the right kernel. Kernels
// compute with small integers, so that results are the same however the sums are arranged.

#pragma once

#include "emulated/kernel.h"
#include "models/numbers.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tritonc::emulator::test {

/// How the emulator finds a bug: kinds of findings, and wrong results.
enum By : unsigned {
  race = 1,
  unwritten = 2, // Finding::Kind::uninitialized
  deadlock = 4,
  divergence = 8,
  misuse = 16,
  bounds = 32, // out of bounds, misaligned
  values = 64,
};

struct Bug {
  const char *name; // "no barrier after the wait"
  unsigned by;      // what must be among the kinds, over all modes
};

struct Subject {
  const char *name;
  std::vector<Bug> bugs; // [i] is switch i + 1
  /// Runs it, in a kernel that has its options. Whether the results are right; meaningless if the
  /// launch was ended by a finding.
  std::function<bool(Kernel &, int bug)> run;
  /// Places whose removal is no bug, and why. `nth` of that operation in the source, from 0.
  struct Needless {
    const char *operation;
    unsigned nth;
    const char *reason;
  };
  std::vector<Needless> needless = {};
};

Subject ampere_gemm();
Subject block_sum();
Subject hopper_gemm();
Subject persistent_gemm();
Subject bulk_reduce();
Subject copies_into_wgmma();
Subject named_barriers();
Subject shared_exchange();

/// Numbers -2 to 2, in no visible order.
inline int small_integer(uint32_t i, uint32_t j, uint32_t seed) {
  uint32_t x = (i * 0x9e3779b1u) ^ (j * 0x85ebca77u) ^ (seed * 0xc2b2ae3du);
  x ^= x >> 15;
  x *= 0x2c1b3c6du;
  x ^= x >> 13;
  return int(x % 5) - 2;
}

/// rows x columns halves, row-major.
inline std::vector<uint16_t> small_halves(uint32_t rows, uint32_t columns, uint32_t seed) {
  std::vector<uint16_t> matrix(size_t(rows) * columns);
  for (uint32_t i = 0; i < rows; i++)
    for (uint32_t j = 0; j < columns; j++)
      matrix[size_t(i) * columns + j] = models::to_half(float(small_integer(i, j, seed)));
  return matrix;
}

/// rows x columns sums over `depth` products of two numbers that functions of (row, e) and
/// (column, e) give.
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
