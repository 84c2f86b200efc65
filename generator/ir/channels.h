// Checks the rules of channels (see ops.def): how partitions of a block's warps wait for each other.
//
// - One partition puts into a channel, and one gets from it. All puts and gets are in equally many
//   loops, and as many numbers are put as are got in one iteration.
// - A put is followed by its put_done, in the same block, with the TMA copies in between. A channel
//   without buffers has neither put nor get_done.
// - No partitions wait for each other in a cycle.

#pragma once

#include "ir/ir.h"

namespace tritonc::ir {

/// Returns all errors, as `verify` does. The other rules of tile IR must hold.
std::string check_channels(const Function &fn);

} // namespace tritonc::ir
