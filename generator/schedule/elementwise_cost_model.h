// The cost of launches without a matmul. Variants of such a kernel differ in how much a program
// does at a time, schedules in how many programs a block runs.

#pragma once

#include "ir/ir.h"
#include "ir/launch_plan.h"
#include "target/cost_tables.h"
#include "target/gpu.h"

#include <optional>

namespace tritonc {

/// The work of a block, as formulas that the host evaluates.
struct BlockWork {
  Expr blocks; // of the launch
  int64_t threads;
  std::optional<Expr> iterations; // of all loops; nothing: no loops
  Expr waits;                     // iterations that wait for loads
  int64_t reductions;             // outside of loops with a known number of iterations
  int64_t late_loads;             // outside of loops, between stores, of what all programs load
  int64_t exchanges;              // of totals in a cluster
  int64_t exchanged;              // elements that a block reads from its cluster
  Expr operations;                // weighted operations on elements
  Expr accesses;                  // of threads to global memory
  Expr bytes;                     // that the launch reads and writes in memory; 0: all are in L2
  /// Blocks per SM at a time, estimated before the code exists.
  int64_t estimated_occupancy;
  ElementwiseTimes times;                 // of the GPU
  std::optional<Expr> second_launch = {}; // ns
};

/// The bytes that a launch reads and writes.
struct Traffic {
  Expr once; // if a program keeps what several of its loops access
  Expr all;  // if each loop accesses it
};

/// `canonical`: a result of canonical_form.
Traffic traffic_of(const ir::Function &canonical, const Gpu &gpu);

/// `fn`: a result of canonical_form, maybe after try_batching, try_splitting_loops, try_unrolling,
/// try_staging_loads or combine_loop_partials, with a launch of `blocks` that reads and writes so many
/// `bytes`. Nothing if a loop accesses tiles, and the host cannot compute its iterations; or if there
/// is a `dot`: cost_model.h has the cost of matmuls.
std::optional<BlockWork> work_of_blocks(const ir::Function &fn, Expr blocks, Expr bytes,
                                        const Gpu &gpu);

/// The number of elements of the largest tile; 0: no tiles.
int64_t elements_of_largest_tile(const ir::Function &fn);

/// Nanoseconds of a launch, with `resident` blocks per SM at a time. `spilled`: bytes that the code of
/// a thread stores to and loads from local memory.
Expr cost_of_elementwise(const BlockWork &work, Expr resident, int64_t spilled = 0);

} // namespace tritonc
