// Draws the measured times of a kernel's variants for each problem, as SVG curves.

#pragma once

#include "emit/library.h"

#include <string>

namespace tritonc {

/// One section for each C++ type and GPU with measurements; empty if there are no measurements.
std::string section_of_measurements(const KernelEntry &kernel);

} // namespace tritonc
