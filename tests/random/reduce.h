// Makes a kernel that fails smaller, as long as it fails in the same way.

#pragma once

#include "random/evaluate.h"

#include <functional>

namespace tritonc::random {

/// Whether a valid kernel still fails.
using StillFails = std::function<bool(const Kernel &, const Evaluation &)>;

/// Removes statements, loops and branches, puts constants and operands in the place of expressions,
/// and makes shapes, grids and numbers smaller, greedily, until nothing helps or `seconds` are
/// over. `kernel` must be valid, and so is the result.
Kernel reduced(Kernel kernel, const StillFails &still_fails, int seconds);

} // namespace tritonc::random
