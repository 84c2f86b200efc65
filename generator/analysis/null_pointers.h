// Which pointers a kernel may be given as null.

#pragma once

#include "ir/ir.h"

#include <vector>

namespace tritonc {

/// Of each parameter, whether it is a pointer by which nothing is loaded or stored where it is
/// null: it is not used, or only behind a comparison with null.
std::vector<bool> may_be_null(const ir::Function &fn);

} // namespace tritonc
