// What kinds of kernels there are: each policy is good at something and leaves other things out.
//
// Kernels that have a bit of everything find less than kernels that have much of one thing, because
// features suppress each other (Groce et al.: "Swarm testing", ISSTA 2012). So a kernel is made by
// one policy, some of whose figures are drawn again for it.

#pragma once

#include "random/draw.h"
#include "random/types.h"

namespace tritonc::random {

struct Policy {
  const char *name;

  // Percentages.
  int loads = 45;      // of leaves that load
  int masks = 30;      // of loads and stores that are masked
  int gathers = 10;    // of loads whose places are no formula
  int reductions = 10; // of expressions
  int moves = 10;      // of expressions that transpose, permute, reshape or insert axes
  int dots = 5;        // of float expressions of two axes
  int odd_steps = 10;  // of strides and coordinates that are unusual
  int pointers = 30;   // of addresses that become variables

  // Percentages of what only some policies make.
  int positions = 0;       // of expressions that look along an axis: gather, scans, argmax, any
  int random_numbers = 0;  // of expressions
  int calls = 0;           // of expressions, of functions
  int functions = 0;       // of expressions: fma, floor and the like
  int constants = 0;       // of loads that are from constant memory
  int hints = 0;           // of loads and stores that say something to the caches
  bool other_dots = false; // of 8-bit floats, integers and doubles, and batched ones

  // Weights of statements.
  int declarations = 30, assignments = 20, branches = 10, counted_loops = 10, other_loops = 4,
      stores = 10, in_place = 3, products = 0, atomics = 0, checks = 0;

  int largest_tile = 4096; // in elements
  double work = 60'000;    // elements computed by all programs together
  int statements = 8;      // in the outermost list
  int depth = 3;           // of expressions
  int nesting = 2;         // of branches and loops
  std::vector<int64_t> extents = {1, 2, 4, 8, 16, 32, 64};
  std::vector<int> ranks = {0, 1, 1, 2, 2, 2, 3};
  std::vector<Scalar> scalars = {Scalar::int32,  Scalar::float_,   Scalar::half,   Scalar::int32,
                                 Scalar::float_, Scalar::bool_,    Scalar::int8,   Scalar::uint8,
                                 Scalar::int16,  Scalar::uint16,   Scalar::uint32, Scalar::int64,
                                 Scalar::uint64, Scalar::bfloat16, Scalar::double_};
  bool may_round = false; // floats are compared with a bound, not bit by bit
  bool whole = false;     // products are of tiles that tensor maps can describe and wgmma multiply
};

/// One of the policies for a kernel's seed, with some of its figures changed. What the kernel draws
/// after that, it draws from `draw` too.
Policy draw_policy(uint64_t seed, Draw &draw);

} // namespace tritonc::random
