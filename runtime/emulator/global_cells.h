// The shadow cell of global memory: a race cell and the clusters it belongs to.
//
// The race cell describes the last cluster that wrote and the last cluster that read. For other
// clusters, the kind of access suffices, because nothing orders clusters.

#pragma once

#include "race_cells.h"

#include <atomic>
#include <cstdint>

namespace tritonc::emulator {

struct GlobalCell {
  uint32_t launch;             // cells of earlier launches are empty
  std::atomic<bool> is_locked; // locks the parts, too
  uint8_t is_split : 1;        // the parts hold the accesses
  // Accesses since the last write, a bit per AccessKind: by the cluster that owns `cell.others`,
  // and by the clusters before it.
  uint8_t own_kinds : 3;
  uint8_t foreign_kinds : 3;
  uint16_t foreign_site;
  uint32_t writer_cluster, others_cluster;
  RaceCell cell;
};
static_assert(sizeof(GlobalCell) == 32);

} // namespace tritonc::emulator
