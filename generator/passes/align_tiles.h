// Lets tiles be loaded and stored in whole vectors, whatever the length of a row. See
// align_tiles.cpp.

#pragma once

#include "ir/ir.h"

namespace tritonc {

void align_tiles(ir::Function &fn);

} // namespace tritonc
