// Explains which schedules the compiler chose for a kernel and why: the output of --explain.

#pragma once

#include "ir/ir.h"
#include "target/gpu.h"

#include <string>

namespace tritonc {

/// The explanation of one translated kernel for one GPU. `heading` names the variant.
std::string explain(const ir::Function &fn, const Gpu &gpu, const std::string &heading);

} // namespace tritonc
