// What the passes that divide a block into producer and consumer partitions share.

#pragma once

#include "ir/builder.h"
#include "ir/ir.h"
#include "target/gpu.h"

#include <vector>

namespace tritonc {

/// The operations that `take_device_ops` has removed from the body of a function.
struct DeviceOps {
  std::vector<ir::Op *> ops;
  ir::Op *end = nullptr;         // the return
  ir::Copies copies_of_host_ops; // each value that the host computes, as a copy of itself
};

/// Removes from the body all operations but those of the host, and what these are computed from.
DeviceOps take_device_ops(ir::Function &fn);

/// Appends operations without a block to `block`.
void move_to(ir::Block &block, const std::vector<ir::Op *> &ops);

/// Fetches all tensor maps. Without this the first copy waits for its map, half a microsecond.
/// Meanwhile the block initializes the mbarriers.
void prefetch_maps(ir::Builder &builder, const ir::Function &fn);

/// Gives the consumer partition of `specialize` registers of the producer, where that is worth it.
/// `producer_warps`: those that copy; 0: one thread starts TMA copies.
void set_registers(ir::Op &specialize, int consumer_warps, int producer_warps);

/// Registers per thread in a block of consumer warps and of a producer warpgroup, of which one thread
/// works, if an SM runs `blocks_per_sm` such blocks.
struct ThreadRegisters {
  int64_t of_consumer = 0, of_producer = 0;
  int64_t at_start = 0; // of all threads, before setmaxnreg; ptxas needs them for the largest wgmma
};
ThreadRegisters registers_beside_one_thread(int consumer_warps, int blocks_per_sm, const Gpu &gpu);
constexpr int warps_of_warpgroup = 4; // only whole warpgroups move registers

} // namespace tritonc
