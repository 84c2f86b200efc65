// Divides a block into producer warps that copy and consumer warps that multiply.
// See specialize_warps.cpp.

#pragma once

#include "analysis/matmul_loop.h"
#include "ir/ir.h"
#include "ir/schedule.h"
#include "target/gpu.h"

namespace tritonc {

/// The stages of the circular buffer of `matmul` that fit beside everything else in shared memory.
/// Specialization needs at least the minimum: wgmma runs on while the next stage is filled, but mma
/// needs a stage that is full already.
constexpr int64_t min_stages_of_wgmma = 2, min_stages_of_mma = 3;
int64_t fitting_stages(ir::Function &fn, const MatmulLoop &matmul, const Gpu &gpu,
                       const Schedule &schedule);

void specialize_warps(ir::Function &fn, const Gpu &gpu, const Schedule &schedule);

} // namespace tritonc
