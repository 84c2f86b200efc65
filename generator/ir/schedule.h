// A schedule: how the blocks of a GPU run a kernel, as plain data.
//
// `schedule/` makes the schedules of a kernel. `passes/` apply one. Everything after them (image,
// manifest, hooks, tuning data) identifies a schedule by `text_of`. The words are those of CUTLASS:
// kind, tile, producer and consumer warps, stages, split-K.
//
// Example: Schedule{.kind = Schedule::Kind::warp_specialized, .tile = {128, 128, 64},
//                   .consumer_groups = 2} has the text "128x128x64 warp-specialized, ping-pong".

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// The tile of a block, in elements.
struct BlockTile {
  int64_t m = 0, n = 0, k = 0;
  bool operator==(const BlockTile &) const = default;
};

/// Split-K through a workspace: what a partial is, for both launches. The first stores the partials,
/// the second reduces them.
struct SplitKPartials {
  /// Programs per block of the first launch, along each axis of the grid.
  std::vector<int64_t> coarsening = {1, 1, 1};
  /// The axes of the grid along which programs follow one another, in M and in N.
  std::vector<size_t> axes = {};
  bool operator==(const SplitKPartials &) const = default;
};

struct Schedule {
  enum class Kind : uint8_t {
    /// One program per block; all warps do the same. It has no requirements, so every kernel has
    /// this schedule.
    baseline,
    /// cp.async and mma. One block per SM fills shared memory with copies in flight.
    multistage,
    /// cp.async and wgmma; all warps do both. Starts sooner than `warp_specialized`, and multiplies
    /// any number of dots.
    multistage_wgmma,
    /// Producer warps copy, consumer warps multiply: by wgmma, or by mma where the GPU has no
    /// wgmma.
    warp_specialized,
    /// A block runs several programs side by side, with an axis of each tile for them. All warps do
    /// the same. `coarsening` has their number.
    batched,
    /// Each warp of a block runs a program of its own. `coarsening` has their number.
    program_per_warp,
    /// All warps do the same. Two launches divide the loop of a program among blocks: split-K, if
    /// the program is a matmul.
    split_loop,
    /// The second launch of split-K through a workspace: adds the partials, then runs the epilogue.
    split_k_reduction,
  };
  Kind kind = Kind::baseline;

  /// The tile of a block; zero: that of the source. `text_of` shows it.
  BlockTile tile = {};

  /// Producer warps that load the operands element by element; 0: one thread loads them by TMA.
  int producer_warps = 0;

  /// Groups of consumer warps. With two (ping-pong), each has its own output tiles, and one runs
  /// its epilogue while the other multiplies.
  int consumer_groups = 1;

  /// Programs that a block runs at once, along each axis of the grid; empty: one.
  std::vector<int64_t> coarsening = {};

  /// Blocks that share the tile of a program, along each axis of the grid; empty: one. Along such an
  /// axis, `coarsening` is 1.
  std::vector<int64_t> division = {};

  /// The K tile, in elements; 0: that of the source. A warp-specialized kernel keeps a longer K
  /// tile of the source if set_k_tile cannot shorten it.
  int64_t k_tile = 0;

  /// Computes the transpose of the matmul: then B is the first operand, which may have any layout
  /// in memory, and the tile may have fewer rows than an instruction.
  bool swap_operands = false;

  /// Blocks of a cluster that share one K loop. With more than one, a cluster runs one (coarsened)
  /// program and ends.
  int64_t split_k = 1;

  /// Blocks of a cluster that compute adjacent output tiles and share an operand: each block loads a
  /// part of its tiles for all of them.
  int64_t multicast = 1;

  /// Blocks of a cluster that divide all loops of a program; only without a matmul.
  int64_t cluster = 1;

  /// The blocks divide K iterations evenly, instead of output tiles, unless waves of tiles are full.
  bool stream_k = false;

  /// The share of a launch. Two launches may share the work: the first stores partials of a loop, the
  /// second reduces them.
  enum class Work : uint8_t { all, partials, reduction };
  Work work = Work::all;

  /// Only for split-K through a workspace.
  std::optional<SplitKPartials> partials = {};

  /// Blocks per SM at a time, also of split_loop's first launch. Several blocks hide each other's
  /// latencies, but each has less shared memory for stages.
  int blocks_per_sm = 1;

  /// Tiles that several loops load stay in shared memory, as far as it has room for all of them.
  bool staged = false;

  /// Each loop runs this number of times, as straight code, so that its tiles stay in registers. Only
  /// for launches where this is so. 0: loops stay.
  int64_t iterations = 0;

  /// The rows of a block's programs move as one range of memory. Only for launches in which they
  /// follow one another without a gap.
  bool joined_rows = false;

  /// Stages of the epilogue: buffers in shared memory for the pieces of an output tile that TMA
  /// stores. With one stage, TMA must have read a piece before the next piece is written.
  int64_t epilogue_stages = 2;

  bool operator==(const Schedule &) const = default;

  bool is_baseline() const {
    return kind == Kind::baseline && cluster == 1 && !staged && iterations == 0;
  }
  bool is_warp_specialized() const { return kind == Kind::warp_specialized; }
  /// Whether this is the first of two launches that share the work. The next schedule is the
  /// second.
  bool is_first() const { return work == Work::partials; }
  bool is_second() const { return work == Work::reduction; }
};

/// The name of a schedule in everything that users see: "baseline", "128x256x64 warp-specialized",
/// "128x128x64 warp-specialized, split-K 4". Two schedules of a kernel have different texts.
std::string text_of(const Schedule &schedule);

} // namespace tritonc
