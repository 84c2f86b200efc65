#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"
#include "target/gpu.h"

namespace tritonc {

/// Copies the operands of a loop from global to shared memory several iterations ahead.
void pipeline_loops(ir::Function &fn, const Gpu &gpu, const Schedule &schedule = {});

} // namespace tritonc
