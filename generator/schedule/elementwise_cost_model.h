// The cost of launches without a matmul, with one program per block. Variants of such a kernel
// differ in how much a program does at a time.

#pragma once

#include "ir/ir.h"
#include "ir/launch_plan.h"
#include "target/gpu.h"

#include <optional>

namespace tritonc {

/// The work of a program, as formulas that the host evaluates.
struct ProgramWork {
  int64_t threads;
  std::optional<Expr> iterations; // of all loops; nothing: no loops
  Expr operations;                // weighted operations on elements
  /// Programs per SM at a time, estimated before the code exists.
  int64_t estimated_occupancy;
  ElementwiseTimes times; // of the GPU
};

/// `canonical`: a result of canonical_form. Nothing if the host cannot compute the iterations of
/// all loops, or if there is a `dot`: cost_model.h has the cost of matmuls.
std::optional<ProgramWork> work_of_programs(const ir::Function &canonical, const Gpu &gpu);

/// Nanoseconds of a launch, with `resident` programs per SM at a time.
Expr cost_of_elementwise(const ProgramWork &work, int64_t resident);

} // namespace tritonc
