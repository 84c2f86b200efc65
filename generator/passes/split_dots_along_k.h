#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"
#include "target/gpu.h"

namespace tritonc {

/// Cuts dots along K into slices: of one instruction each on tensor cores.
void split_dots_along_k(ir::Function &fn, const Gpu &gpu, const Schedule &schedule = {});

} // namespace tritonc
