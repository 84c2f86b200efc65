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
/// Stores `value` later. `mbarrier`, of the block that `address` is in, counts its bytes (PTX ISA,
/// "st.async"). The store goes through the async proxy: PTX does not name the proxy, and the rules of
/// this one are the stricter ones.
void store_async_cluster(Thread &thread, const Site &site, uint32_t address, uint32_t value,
                         uint32_t mbarrier);

/// Call when a thread has exited. Completes the cluster's barrier if it waited only for this
/// thread. After the last thread of a block, checks that the block did not end too early.
void thread_exited(Thread &thread);

} // namespace tritonc::emulator::ops
