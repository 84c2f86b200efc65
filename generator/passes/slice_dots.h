#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Cuts dots along K into slices of one instruction each.
void slice_dots(ir::Function &fn);

} // namespace tritonc
