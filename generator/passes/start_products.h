#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Starts products by wgmma from the ring that a loop copies ahead into.
void start_products(ir::Function &fn);

} // namespace tritonc
