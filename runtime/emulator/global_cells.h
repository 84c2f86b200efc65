// What is remembered of accesses to global memory: a race cell, and whose it is.
//
// The cell proper is about one cluster, the last one that wrote and the last one that read. For
// what other clusters did it is enough to know that they did, because nothing orders clusters.

#pragma once

#include "race_cells.h"

#include <atomic>
#include <cstdint>

namespace tritonc::emulator {

struct GlobalCell {
  uint32_t launch;             // cells of earlier launches are empty
  std::atomic<bool> is_locked; // with its parts
  uint8_t is_split : 1;        // its parts have it
  // What clusters did since the last write, a bit per AccessKind: the one whose `cell.others` are,
  // and those before it.
  uint8_t own_kinds : 3;
  uint8_t foreign_kinds : 3;
  uint16_t foreign_site;
  uint32_t writer_cluster, others_cluster;
  RaceCell cell;
};
static_assert(sizeof(GlobalCell) == 32);

} // namespace tritonc::emulator
