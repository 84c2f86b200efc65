// What the emulator said about a kernel, for comparing with doctest::Contains.

#pragma once

#include "emulated/kernel.h"

#include <doctest/doctest.h>

namespace tritonc::emulator::test {

inline doctest::String said(const Kernel &kernel) { return kernel.findings().c_str(); }

} // namespace tritonc::emulator::test
