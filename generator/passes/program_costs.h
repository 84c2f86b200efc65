// What launches take in which each program has a block: for kernels without a product, whose
// variants differ in how much a program does at a time.

#pragma once

#include "ir/ir.h"
#include "ir/launch_plan.h"
#include "target/gpu.h"

#include <optional>

namespace tritonc {

/// What a program does, in formulas of what the host knows.
struct ProgramWork {
  int64_t threads;
  std::optional<Expr> iterations; // of all loops
  Expr operations;                // on elements
  /// How many programs a multiprocessor has at once, as far as that can be told before there is
  /// code.
  int64_t likely_resident;
};

/// `canonical`: as canonical_form gives it. Nothing if the host does not know how often loops run,
/// or there is a `dot`, whose costs are others.
std::optional<ProgramWork> work_of_programs(const ir::Function &canonical, const Gpu &gpu);

/// In nanoseconds, if a multiprocessor has so many programs at once.
Expr cost_of_programs_apart(const ProgramWork &work, int64_t resident);

} // namespace tritonc
