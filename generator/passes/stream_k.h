// Stream-K (Osama et al., arXiv 2301.03598): the blocks of a persistent matmul divide K iterations
// instead of output tiles. make_persistent uses it.
//
// P blocks compute T tiles in ceil(T / P) waves, and the last wave may have few tiles. So the blocks
// divide the K iterations of the first T mod P tiles evenly; if T > P, those of the next P tiles, too.
// Waves of whole tiles follow. With four blocks and six tiles:
//
//     tiles       | 0          | 1          | 2          | 3          | 4          | 5          |
//     blocks      | 0                 | 1                 | 2                 | 3                 |
//
// A block starts with its last tile, of which it computes the first iterations, and leaves their sum
// to the next block: a partial. It ends with its first tile, and adds the partials of the blocks
// before it. So it hardly waits for them. It waits only for blocks with lower indices, which a GPU
// starts first.
//
// A workspace has a place for a partial of each block, and then a signal of each block. Partials are
// added in a fixed order, so the result is the same in every run on GPUs with as many SMs.

#pragma once

#include "ir/builder.h"
#include "ir/ir.h"

#include <cstdint>

namespace tritonc {

/// What the host passes to the device.
struct StreamK {
  ir::Value *tiles = nullptr;      // whose iterations are divided; 0: none
  ir::Value *iterations = nullptr; // of a tile; at least 1
  ir::Value *memory = nullptr;     // the workspace
  int64_t tile_elements = 0;
};

/// `tiles`: all output tiles. `blocks`: those that run at the same time. `iterations`: of a tile. All
/// are i32, on the host. `sum`: the type of a tile's sum.
StreamK emit_stream_k(ir::Builder &host, ir::Value *tiles, ir::Value *blocks, ir::Value *iterations,
                      const ir::Type &sum);

/// A part of a tile, which a block computes at a time.
struct WorkItem {
  ir::Value *tile;         // i32
  ir::Value *first, *last; // i32: iterations from `first` on, before `last`
  ir::Value *partials;     // i32: blocks before this one that have left a partial of the tile
};

/// The work of a block, item by item.
class WorkOfBlock {
public:
  /// `block`, `blocks`: the index of the block, and their number. `tiles`: all output tiles. All are
  /// i32.
  WorkOfBlock(ir::Builder &builder, const StreamK &stream_k, ir::Value *block, ir::Value *blocks,
              ir::Value *tiles);

  /// The number of items, i32.
  ir::Value *items() const { return items_; }
  WorkItem item(ir::Builder &builder, ir::Value *number) const;

private:
  const StreamK &stream_k_;
  ir::Value *block_, *blocks_;
  ir::Value *of_block_, *begin_, *end_; // of the divided iterations
  ir::Value *last_tile_, *divided_;     // the last of its divided tiles, and their number
  ir::Value *items_;
};

/// Lets `loop` sum the iterations of `item`; `carried`: the index of the sum among its results. The
/// operations after the loop become those of the block that has the last iterations. It adds the
/// partials of the others.
void emit_exchange_of_partials(ir::Function &fn, const StreamK &stream_k, const WorkItem &item,
                               ir::Value *block, ir::Value *blocks, ir::Op *loop, size_t carried);

} // namespace tritonc
