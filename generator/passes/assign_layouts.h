#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Gives every tile a layout, and inserts conversions where layouts differ.
void assign_layouts(ir::Function &fn);

} // namespace tritonc
