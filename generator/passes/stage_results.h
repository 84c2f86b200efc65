// Let the copy engine store a product's result.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void stage_results(ir::Function &fn);

} // namespace tritonc
