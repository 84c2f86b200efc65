// The state that operations keep per thread, warp, warpgroup, block, and cluster.
//
// The structs of machine.h have these as members `ops`. Each OS thread makes them once and reuses
// them. `reset` runs before each block and must remove all traces of the previous block. It runs
// for every thread, so it should be cheap where the state is unused.

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
  BulkGroups bulk;           // copies from shared memory
  bool may_be_early = false; // Launch::starts_early and no dependency_wait yet

  void reset() {
    copies.reset();
    bulk.reset();
    may_be_early = false;
  }
};

struct WarpState {
  TensorCoreQueue tensor_core;     // the warp's quarter of each wgmma
  bool at_cluster_barrier = false; // has arrived but not waited,
  uint64_t cluster_phase = 0;      // in this phase
  uint64_t cluster_phases = 0;     // number of phases it has waited for
  uint32_t registers = 0;          // per thread, set by setmaxnreg; 0 = as at the start

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
