// What whoever runs a kernel as host code is told of it.
#pragma once

#include "backend/host_object.h"
#include "ir/ir.h"
#include "target/gpu.h"

namespace tritonc {

/// Of a function that went through the pipeline for `gpu`: what `lower` was given.
HostKernel describe(const ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
