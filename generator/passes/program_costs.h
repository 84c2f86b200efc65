// What launches take in which each program has a block: for kernels without a product, whose
// variants differ in how much a program does at a time.

#pragma once

#include "ir/ir.h"
#include "ir/launch_plan.h"
#include "target/gpu.h"

#include <optional>

namespace tritonc {

/// In nanoseconds, a formula of what the host knows. `canonical`: as canonical_form gives it.
/// Nothing if the host does not know how often loops run, or there is a `dot`, whose costs are
/// others.
std::optional<Expr> cost_of_programs_apart(const ir::Function &canonical, const Gpu &gpu);

} // namespace tritonc
