// The emulator's reports about a kernel, for comparison with doctest::Contains.

#pragma once

#include "unit/emulator/kernel.h"

#include <doctest/doctest.h>

namespace tritonc::emulator::test {

inline doctest::String said(const Kernel &kernel) { return kernel.reports().c_str(); }

} // namespace tritonc::emulator::test
