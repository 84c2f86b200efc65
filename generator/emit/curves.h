// Curves of what was measured: how variants of a kernel compare from problem to problem, as SVG.

#pragma once

#include "emit/library.h"

#include <string>

namespace tritonc {

/// A section for each C++ type and GPU that there are measurements of; empty if there are none.
std::string section_of_measurements(const KernelEntry &kernel);

} // namespace tritonc
