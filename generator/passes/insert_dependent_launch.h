// Lets consecutive launches overlap (programmatic dependent launch).
// See insert_dependent_launch.cpp.

#pragma once

#include "ir/ir.h"
#include "target/gpu.h"

namespace tritonc {

void insert_dependent_launch(ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
