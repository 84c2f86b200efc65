// Passes the result of an atomic operation to all threads. See broadcast_atomic_results.cpp.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void broadcast_atomic_results(ir::Function &fn);

} // namespace tritonc
