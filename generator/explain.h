// Why a kernel is compiled in the structures that it is: what --explain says.

#pragma once

#include "ir/ir.h"
#include "target/gpu.h"

#include <string>

namespace tritonc {

/// Lines about one kernel, as translated, for one GPU. `heading` says which variant.
std::string explain(const ir::Function &fn, const Gpu &gpu, const std::string &heading);

} // namespace tritonc
