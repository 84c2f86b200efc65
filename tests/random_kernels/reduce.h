// Reduces a failing kernel while it still fails in the same way.

#pragma once

#include "random_kernels/evaluate.h"

#include <functional>

namespace tritonc::random {

/// Whether a valid kernel still fails.
using StillFails = std::function<bool(const Kernel &, const Evaluation &)>;

/// Removes statements, loops, and branches; replaces expressions by constants or operands; makes
/// shapes, grids, and numbers smaller. Works greedily, until no edit helps or `seconds` are over.
/// `kernel` must be valid, and the result is valid.
Kernel reduced(Kernel kernel, const StillFails &still_fails, int seconds);

} // namespace tritonc::random
