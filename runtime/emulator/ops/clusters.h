// What blocks of a cluster do together: their barrier, and access to each other's shared memory
// (PTX ISA, "barrier.cluster", "mapa", "ld.shared::cluster").

#pragma once

#include "../clocks.h"
#include "../record.h"

#include <cstdint>
#include <vector>

namespace tritonc::emulator::ops {

/// Every thread that has not exited arrives, and then waits for all the others to have arrived.
void cluster_arrive(const WarpCall<void()> &call);
/// Arriving says nothing of what the threads did before.
void cluster_arrive_relaxed(const WarpCall<void()> &call);
void cluster_wait(const WarpCall<void()> &call);

/// The address that shared address `address` of this block has in block `rank` of the cluster.
uint32_t map_shared_rank(Thread &thread, const Site &site, uint32_t address, uint32_t rank);
uint32_t load_cluster(Thread &thread, const Site &site, uint32_t address);
Words<4> load_cluster_x4(Thread &thread, const Site &site, uint32_t address);
void store_cluster(Thread &thread, const Site &site, uint32_t address, uint32_t value);

/// To be called when a thread has exited, so that those who wait for it at the cluster's barrier go
/// on; and when it was the last of its block, to see whether that was too early.
void thread_exited(Thread &thread);

} // namespace tritonc::emulator::ops
