// Lets a thread rescale its sum once per iteration. See rescale_per_thread.cpp.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void rescale_per_thread(ir::Function &fn);

} // namespace tritonc
