#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Replaces the affine pointer tiles of loads and stores by views.
void form_views(ir::Function &fn);

} // namespace tritonc
