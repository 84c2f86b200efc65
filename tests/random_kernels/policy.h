// Policies: the kinds of kernels. Each policy emphasizes some features and omits others.
//
// Kernels with a few of all features find fewer bugs than kernels with many uses of one feature,
// because features suppress each other (Groce et al.: "Swarm testing", ISSTA 2012). So each kernel
// uses one policy, with some of its numbers redrawn.

#pragma once

#include "random_kernels/draw.h"
#include "random_kernels/types.h"

namespace tritonc::random {

struct Policy {
  const char *name;

  // Percentages.
  int loads = 45;      // of leaves that load
  int masks = 30;      // of loads and stores that are masked
  int gathers = 10;    // of loads with loaded indices
  int reductions = 10; // of expressions
  int moves = 10;      // of expressions that transpose, permute, reshape or insert axes
  int dots = 5;        // of float expressions of two axes
  int odd_steps = 10;  // of unusual strides and indices
  int pointers = 30;   // of addresses that become variables

  // Percentages of features that only some policies have.
  int positions = 0;       // of expressions along an axis: gather, scans, argmax, any
  int random_numbers = 0;  // of expressions
  int calls = 0;           // of expressions: calls of device functions
  int functions = 0;       // of expressions: fma, floor and the like
  int constants = 0;       // of loads from constant memory
  int hints = 0;           // of loads and stores with cache hints
  bool other_dots = false; // dots of 8-bit floats, integers, and doubles, and batched dots

  // Weights of statements.
  int declarations = 30, assignments = 20, branches = 10, counted_loops = 10, other_loops = 4,
      stores = 10, in_place = 3, products = 0, atomics = 0, checks = 0;

  int largest_tile = 4096; // in elements
  double work = 60'000;    // elements computed by all programs
  int statements = 8;      // in the outermost list
  int depth = 3;           // of expressions
  int nesting = 2;         // of branches and loops
  std::vector<int64_t> extents = {1, 2, 4, 8, 16, 32, 64};
  std::vector<int> ranks = {0, 1, 1, 2, 2, 2, 3};
  std::vector<Scalar> scalars = {Scalar::int32,  Scalar::float_,   Scalar::half,   Scalar::int32,
                                 Scalar::float_, Scalar::bool_,    Scalar::int8,   Scalar::uint8,
                                 Scalar::int16,  Scalar::uint16,   Scalar::uint32, Scalar::int64,
                                 Scalar::uint64, Scalar::bfloat16, Scalar::double_};
  bool may_round = false; // floats are compared with a bound, not bit for bit
  bool whole = false;     // matmul tiles fit tensor maps and wgmma
  bool rows = false;      // a kernel reduces rows, and consists of little else
};

/// The policy for a kernel's seed, with some numbers changed. The generator continues to draw from
/// `draw`.
Policy draw_policy(uint64_t seed, Draw &draw);

} // namespace tritonc::random
