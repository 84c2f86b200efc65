// Lets a loop load its tiles one iteration ahead. See prefetch_loads.cpp.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void prefetch_loads(ir::Function &fn);

} // namespace tritonc
