// Follows values through control flow: the carried values of loops and the results of branches.
#pragma once

#include "ir/ir.h"

#include <functional>

namespace tritonc {

/// Calls `visit` for each pair of values where `to` may take the value of `from` at a loop or a
/// branch: at the start of a loop, at the end of an iteration or branch, and inside a loop.
/// Operations without blocks have no such pairs. To follow values through loops, repeat until
/// nothing changes.
void for_each_flow(const ir::Op &op,
                   const std::function<void(const ir::Value *to, const ir::Value *from)> &visit);

} // namespace tritonc
