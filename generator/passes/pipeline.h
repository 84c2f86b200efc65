// The pipeline of tile IR passes.

#pragma once

#include "passes/pass_runner.h"
#include "target/gpu.h"

namespace tritonc {

/// Takes the tile IR of a kernel to the form that `lower/` translates operation by operation for
/// `gpu`. Decides `fn.warps` and `fn.shared_bytes`, which may be more than the GPU has: the caller
/// checks.
void run_pipeline(ir::Function &fn, const Gpu &gpu, const PassObserver &observe = {});

/// The names of the passes in order, for --print-after.
std::vector<std::string_view> pass_names();

} // namespace tritonc
