#pragma once

#include "ir/ir.h"
#include "passes/structure.h"

namespace tritonc {

/// Decides how many programs one multiprocessor shall run at once. See choose_residency.cpp.
void choose_residency(ir::Function &fn, const Gpu &gpu, const Structure &structure = {});

} // namespace tritonc
