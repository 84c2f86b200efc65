// Lint: warnings about correct kernels that are slower than necessary or may read out of bounds.
#pragma once

#include "diagnostics/diagnostics.h"
#include "ir/ir.h"

namespace tritonc {

/// Reports all lint warnings of a translated kernel.
void lint(const ir::Function &kernel, DiagnosticEngine &diagnostics);

} // namespace tritonc
