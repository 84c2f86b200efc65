// Copies the accumulators of fma dots before they are stored.
// See avoid_register_bank_conflicts.cpp.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void avoid_register_bank_conflicts(ir::Function &fn);

} // namespace tritonc
