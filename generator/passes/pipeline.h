// The pipeline of tile IR passes.

#pragma once

#include "passes/pass_runner.h"
#include "passes/structure.h"
#include "target/gpu.h"

namespace tritonc {

/// Takes the tile IR of a kernel to the form that `lower/` translates operation by operation for
/// `gpu`, in one of its `structures_for`. Decides `fn.warps` and `fn.shared_bytes`, which may be
/// more than the GPU has: the caller checks.
void run_pipeline(ir::Function &fn, const Gpu &gpu, const PassObserver &observe = {},
                  const Structure &structure = {});

/// The first part of the pipeline, which is the same for all GPUs and structures.
void canonicalize(PassRunner &run);

/// A copy of `fn` behind that part.
ir::Function canonical_form(const ir::Function &fn);

/// The names of the passes in order, for --print-after.
std::vector<std::string_view> pass_names();

} // namespace tritonc
