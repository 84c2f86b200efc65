// Gives TMA loads an L2 eviction policy, so that data that is read once goes first.
// See set_l2_eviction.cpp.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void set_l2_eviction(ir::Function &fn);

} // namespace tritonc
