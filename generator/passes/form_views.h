#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Gives loads and stores of affine pointer tiles a view in place of the pointers.
void form_views(ir::Function &fn);

} // namespace tritonc
