// Signals between blocks: the only way to order accesses of blocks in different clusters.

#pragma once

#include "../machine.h"

namespace tritonc::emulator::ops {

/// Gives the signal at `address`, after all earlier accesses of the thread.
void signal(Thread &thread, const Site &site, void *address);
/// Waits for the signal at `address`, and takes it. Only a block with a lower index may give it: a GPU
/// may start the blocks after this one when this one has ended.
void wait_signal(Thread &thread, const Site &site, void *address);

} // namespace tritonc::emulator::ops
