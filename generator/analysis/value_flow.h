// How values become others by control flow: what loops carry, and what branches give.
#pragma once

#include "ir/ir.h"

#include <functional>

namespace tritonc {

/// Calls `visit` for each value that `from` may become at a loop or a branch: where a loop begins,
/// where an iteration or a branch ends, and inside of a loop. Operations without blocks have none.
/// To follow values through loops, repeat it until nothing is new.
void for_each_flow(const ir::Op &op,
                   const std::function<void(const ir::Value *to, const ir::Value *from)> &visit);

} // namespace tritonc
