// Let the L2 cache give up first what is read only once.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void hint_copies(ir::Function &fn);

} // namespace tritonc
