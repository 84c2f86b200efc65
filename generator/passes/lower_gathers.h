#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Lowers gather to a store to shared memory and loads of single elements from there.
void lower_gathers(ir::Function &fn);

} // namespace tritonc
