// Loads tiles that several loops use once, into shared memory. See stage_repeated_loads.cpp.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"
#include "target/gpu.h"

namespace tritonc {

/// Stages the repeated loads of `fn`. Returns false, and changes nothing, if there are none.
bool try_staging_loads(ir::Function &fn, const Gpu &gpu);

void stage_repeated_loads(ir::Function &fn, const Gpu &gpu, const Schedule &schedule);

} // namespace tritonc
