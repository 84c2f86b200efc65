// Finds the parameters through which a kernel loads and stores.

#pragma once

#include "ir/ir.h"

#include <vector>

namespace tritonc {

struct ParameterAccess {
  bool loads = false, stores = false; // an atomic operation does both
};

/// For each parameter: the accesses through pointers that may be computed from it.
std::vector<ParameterAccess> parameter_accesses(const ir::Function &fn);

} // namespace tritonc
