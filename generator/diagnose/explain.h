// Explains which schedules the compiler chose for a kernel and why: the output of --explain.

#pragma once

#include "ir/ir.h"
#include "support/result.h"
#include "target/gpu.h"

#include <optional>
#include <string>

namespace tritonc {

/// The explanation of one translated kernel for one GPU. `heading` names the variant.
std::string explain(const ir::Function &fn, const Gpu &gpu, const std::string &heading);

/// Why the kernel is not warp-specialized, as a note; nothing if it is.
std::optional<Error> reason_of_fallback(const ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
