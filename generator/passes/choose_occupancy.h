#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"
#include "target/gpu.h"

namespace tritonc {

/// Decides how many blocks one SM runs at once. See choose_occupancy.cpp.
void choose_occupancy(ir::Function &fn, const Gpu &gpu, const Schedule &schedule = {});

} // namespace tritonc
