// The pipeline of tile IR passes. pipeline.cpp has their order.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"
#include "passes/pass_runner.h"
#include "target/gpu.h"

namespace tritonc {

/// Lowers the tile IR of a kernel to the form that `lower/` translates operation by operation.
/// `schedule` is one of the `candidate_schedules` for `gpu`. Sets `fn.warps` and `fn.shared_bytes`.
/// They may exceed the limits of the GPU: the caller checks.
void run_pipeline(ir::Function &fn, const Gpu &gpu, const PassObserver &observe = {},
                  const Schedule &schedule = {});

/// Runs the first part of the pipeline, which is the same for all GPUs and schedules.
void canonicalize(PassRunner &run);

/// Returns a copy of `fn` after `canonicalize`.
ir::Function canonical_form(const ir::Function &fn);

/// The names of the passes in order, for --print-after.
std::vector<std::string_view> pass_names();

} // namespace tritonc
