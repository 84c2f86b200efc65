// What a launch costs the host beyond the driver's part of it.
#pragma once

#include "driver.h"
#include "matmul.h"
#include "report.h"

namespace bench {

/// Times the smallest product there is, of half NN in the plain form, launched through the
/// generated function, with one set of arguments and with three in turn; the first made ready by
/// `prepare`; and the first by nothing but cuLaunchKernelEx. The operands are of half,
/// `smallest_size` squared at least. Throws std::runtime_error if a call fails.
LaunchCost launch_cost(const Driver &driver, const Operands &operands);

} // namespace bench
