#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Turns convert_layout into a store to and a load from shared memory.
void lower_conversions(ir::Function &fn);

} // namespace tritonc
