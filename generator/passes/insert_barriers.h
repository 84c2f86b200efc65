#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Inserts barriers where threads could otherwise see stale memory.
void insert_barriers(ir::Function &fn);

} // namespace tritonc
