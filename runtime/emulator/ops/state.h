// What the families of operations in this folder keep of a thread, a warp, a warpgroup, a block and
// a cluster.
//
// Members of machine.h's structs of the same names, made once per OS thread that runs clusters and
// used again: `reset` is called before each block, and has to leave no trace of the one before. It
// is called for every thread, so it should do nothing where nothing was used.

#pragma once

#include "bulk_groups.h"
#include "cluster_barrier.h"
#include "copy_queue.h"
#include "lifetimes.h"
#include "mbarriers.h"
#include "tensor_cores.h"

#include <cstdint>

namespace tritonc::emulator::ops {

struct ThreadState {
  CopyQueue copies;          // cp.async
  BulkGroups bulk;           // copies out of shared memory
  bool may_be_early = false; // the launch in front of this one may not be done yet

  void reset() {
    copies.reset();
    bulk.reset();
    may_be_early = false;
  }
};

struct WarpState {
  TensorCoreQueue tensor_core;     // its quarter of wgmma
  bool at_cluster_barrier = false; // has arrived and not waited yet,
  uint64_t cluster_phase = 0;      // in this phase
  uint64_t cluster_phases = 0;     // so many it has waited for
  uint32_t registers = 0;          // per thread, since setmaxnreg; 0: as at the start

  void reset() {
    tensor_core.reset();
    at_cluster_barrier = false;
    cluster_phases = 0;
    registers = 0;
  }
};

struct WarpgroupState {
  TensorCores tensor_cores;

  void reset() { tensor_cores.reset(); }
};

struct BlockState {
  Mbarriers mbarriers;
  OutsideUses outside;
  struct WaitsForRegisters {
    unsigned group; // warpgroup
    uint32_t registers;
  };
  std::vector<WaitsForRegisters> waiting_for_registers; // at setmaxnreg_inc

  void reset() {
    mbarriers.reset();
    outside.reset();
    waiting_for_registers.clear();
  }
};

struct ClusterState {
  ClusterBarrier barrier;

  void reset() { barrier.reset(); }
};

} // namespace tritonc::emulator::ops
