// Lowers the channels between partitions to mbarriers. See lower_channels.cpp.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void lower_channels(ir::Function &fn);

} // namespace tritonc
