// Through which of its parameters a kernel loads and stores.

#pragma once

#include "ir/ir.h"

#include <vector>

namespace tritonc {

struct ParameterAccess {
  bool loads = false, stores = false; // atomic operations do both
};

/// Of each parameter, what is done by pointers that may be computed from it.
std::vector<ParameterAccess> parameter_accesses(const ir::Function &fn);

} // namespace tritonc
