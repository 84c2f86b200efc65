// Compares and divides once for adjacent elements whose results are equal. See share_comparisons.cpp.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void share_comparisons(ir::Function &fn);

} // namespace tritonc
