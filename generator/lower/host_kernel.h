// Describes a kernel to the emulator, which runs it as host code.
#pragma once

#include "backend/host_object.h"
#include "ir/ir.h"
#include "target/gpu.h"

namespace tritonc {

/// Describes the function that `lower` gets, after the passes for `gpu`.
HostKernel describe(const ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
