#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Turns dots into asynchronous wgmmas that read the circular buffer of a software pipeline.
void issue_wgmma_async(ir::Function &fn);

} // namespace tritonc
