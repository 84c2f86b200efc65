// Finds stores of a loop that change other elements in each iteration.

#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Whether `store`, in a loop with `counter`, changes other elements in each iteration. By a rule of
/// the language, rows do not overlap if their distance is a parameter
/// (docs/pages/language/memory.md). False also if it cannot tell.
bool stores_apart(const ir::Op &store, const ir::Value *counter);

} // namespace tritonc
