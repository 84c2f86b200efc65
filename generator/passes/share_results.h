// Lets every thread know what one of them got from an atomic operation. See share_results.cpp.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void share_results(ir::Function &fn);

} // namespace tritonc
