// Measures the host time of a launch, compared with a bare driver launch.
#pragma once

#include "driver.h"
#include "matmul.h"
#include "report.h"

namespace bench {

/// Times launches of the smallest matmul, half NN with the baseline kernel:
///
///     - the generated function, with one set of arguments
///     - the generated function, with three sets of arguments in turn
///     - a launch made ready by `prepare`
///     - cuLaunchKernelEx only
///
/// The operands are half matrices of at least smallest_size x smallest_size. Throws
/// std::runtime_error if a call fails.
LaunchCost launch_cost(const Driver &driver, const Operands &operands);

} // namespace bench
