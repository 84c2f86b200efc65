// Advice about kernels that are right: what is slower than it need be, or reads what it may not
// have.
#pragma once

#include "ir/ir.h"
#include "source/diagnostics.h"

namespace tritonc {

/// Warns about a kernel as it was translated.
void advise(const ir::Function &kernel, Diagnostics &diagnostics);

} // namespace tritonc
