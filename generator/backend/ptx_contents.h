// What PTX says of itself, as read_cubin says it of cubins.
#pragma once

#include "backend/cubin.h"

#include <string>

namespace tritonc {

/// The kernels of a PTX text and what they are given. How many registers they take, and how large
/// their code is, depends on the GPU that they are compiled for: zero. The GPU is "compute_80".
CubinReading read_ptx(const std::string &text);

} // namespace tritonc
