// Operations of a cluster: its barrier, and access to other blocks' shared memory (PTX ISA,
// "barrier.cluster", "mapa", "ld.shared::cluster").

#pragma once

#include "../clocks.h"
#include "../record.h"

#include <cstdint>
#include <vector>

namespace tritonc::emulator::ops {

/// `cluster_arrive` arrives; `cluster_wait` waits until all threads that have not exited arrived.
void cluster_arrive(const WarpCall<void()> &call);
/// Arrives without releasing the thread's earlier accesses.
void cluster_arrive_relaxed(const WarpCall<void()> &call);
void cluster_wait(const WarpCall<void()> &call);

/// Maps shared address `address` of this block to block `rank` of the cluster.
uint32_t map_shared_rank(Thread &thread, const Site &site, uint32_t address, uint32_t rank);
uint32_t load_cluster(Thread &thread, const Site &site, uint32_t address);
Words<4> load_cluster_x4(Thread &thread, const Site &site, uint32_t address);
void store_cluster(Thread &thread, const Site &site, uint32_t address, uint32_t value);

/// Call when a thread has exited. Completes the cluster's barrier if it waited only for this
/// thread. After the last thread of a block, checks that the block did not end too early.
void thread_exited(Thread &thread);

} // namespace tritonc::emulator::ops
