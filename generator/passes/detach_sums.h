// Copy sums of fma instructions before they are stored.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void detach_sums(ir::Function &fn);

} // namespace tritonc
