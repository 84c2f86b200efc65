// Merges loads of the same elements, for passes that let a program load its rows once.

#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Replaces each load of a tile of the function's body, outside of loops, by an earlier load of the
/// same elements, if there is one.
void merge_repeated_loads(ir::Function &fn);

} // namespace tritonc
