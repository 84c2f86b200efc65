// Reads the kernels and their parameters from PTX text, as read_cubin does for cubins.
#pragma once

#include "backend/cubin.h"

#include <string>

namespace tritonc {

/// The kernels of a PTX text and their parameters. Register counts and code sizes are 0, because
/// they depend on the GPU that the driver compiles for. The GPU name is "compute_80".
CubinReading read_ptx(const std::string &text);

} // namespace tritonc
