// Declares the measured launch times of a GPU: the data of the cost models in schedule/.
//
// A program of this repository measured each number, on the GPU and with the driver that its
// comment names. A GPU without measurements uses the table of another GPU: the model compares
// schedules with each other, so only ratios count.

#pragma once

#include <cstdint>
#include <span>

namespace tritonc {

/// The tile of a block: rows and columns of the accumulator, the K tile in rows of shared memory
/// (128 bytes), and the blocks of a cluster that share its K loop.
struct Tile {
  int64_t rows, columns, k_rows, split_k = 1;

  int64_t elements() const { return rows * columns; }
  bool operator==(const Tile &) const = default;
};

/// A tile and its times on an SM, in ns.
struct MeasuredTile {
  Tile tile;
  int64_t step;            // ns per 128 bytes along K
  int64_t rest;            // ns before and after the mainloop
  int producer_warps = 0;  // warps that load element by element; 0: TMA
  int consumer_groups = 1; // 2: ping-pong
  int64_t min_time = 0;    // ns per output tile with ping-pong: epilogue of the other group
  int64_t multicast = 1;   // blocks of a cluster that share an operand
  int64_t partial = 0;     // ns to pass a partial to another block; 0: no stream-K
};

/// The times of a program that is a block by itself, in picoseconds of an SM.
struct MeasuredPrograms {
  int64_t step;        // per 128 bytes along K
  int64_t accumulator; // per 128 bytes along K and element of the accumulator
  int64_t copied;      // per 128 bytes along K and row of A or column of B
  int64_t iteration;   // per iteration of the mainloop
  int64_t rest;        // before and after the mainloop
  int64_t stored;      // per element of the result
  int64_t launch;      // ns, once
};

/// The times of programs whose copies of operands of 2 bytes take most of the time. A wave is the
/// blocks that run at the same time.
struct MeasuredCopies {
  int64_t launch;    // ns, once
  int64_t iteration; // ns of a wave, per K iteration
  int64_t copied;    // ps of a wave, per K iteration and element that a thread copies
  int64_t rest;      // ns of a wave, before and after the mainloop
  double multiplied; // ps of an SM, per multiplication of two elements
  int64_t stored;    // ps of an SM, per element of the result
  int64_t spilled;   // ps of an SM, per K iteration and word that a thread spills
  int64_t thread;    // ps of an SM, per K iteration and thread
};

/// The times of kernels without a matmul.
struct ElementwiseTimes {
  int64_t launch;           // ns, once
  int64_t iteration;        // ns of a wave, per iteration of a loop
  int64_t wait;             // ns of a wave, in addition per iteration that waits for loads
  int64_t reduction;        // ns of a wave, per reduction of a block
  int64_t exchange;         // ns of a wave, each time that a cluster combines totals
  double exchanged_element; // ns of an SM: the network between SMs moves an element of these
  double of_thread_alone;   // ns of a wave, per operation of one thread
  int64_t access;           // operations that take as long as an access to global memory
  int64_t program;          // ns of an SM, per program
  double of_element;        // ns of an SM, per operation on an element
  int64_t bytes_per_ns;     // of global memory
  int64_t edge_bytes;       // move as long as the edges of a contiguous part that is aligned
  int64_t next_part_bytes;  // the same of a part that begins where the last iteration ended
  int64_t batch_elements;   // elements that a block with several programs loads
  int threads_with_weights; // least threads of an SM that may load weights before a reduction
  int64_t cluster_elements; // least elements of the largest tile of a program of a cluster
};

/// The times of warp-specialized loops of any dots.
struct LoopTimes {
  int64_t launch;         // ns, once
  int64_t rest;           // ns of a wave, before and after the loops
  double of_thread_alone; // ns of a wave, per operation of one thread
  double of_element;      // ns of an SM, per operation on an element
  double multiplied;      // ns of an SM, per multiplication of two elements
  double of_loaded_byte;  // ns of an SM, per byte that TMA loads in an iteration
  int64_t bytes_per_ns;   // of an SM, before and after the loops
};

struct CostTables {
  std::span<const MeasuredTile> by_tma;              // warp-specialized, TMA and wgmma
  std::span<const MeasuredTile> by_threads;          // warp-specialized, producer warps without TMA
  std::span<const MeasuredTile> gathered_by_threads; // the same, of gathered operands
  std::span<const MeasuredTile> by_mma;              // warp-specialized, TMA and mma
  std::span<const MeasuredTile> split_k;             // split-K through a workspace; best first
  MeasuredTile coarsened;                            // multistage, mma
  MeasuredTile multistage_wgmma;
  MeasuredPrograms programs_without_wgmma, programs_beside_wgmma;
  MeasuredCopies copies;          // through registers
  MeasuredCopies gathered;        // by cp.async, multiplied by wgmma
  MeasuredCopies gathered_copies; // of gathered operands, through registers
  ElementwiseTimes elementwise;
  LoopTimes loops;

  int64_t launch;                    // ns before a warp-specialized kernel starts
  int64_t bytes_per_ns;              // memory bandwidth of warp-specialized blocks
  int64_t bytes_per_ns_baseline;     // the same for one program per block, on a GPU with wgmma
  int64_t bytes_per_ns_multistage;   // the same for one block per SM
  int64_t multistage_start;          // ns until its stages are full
  int64_t row_time;                  // ps for each 128 bytes of a row that TMA copies
  int64_t unaligned_row_time;        // the same if rows do not start at multiples of 32 bytes
  int64_t outside_row_time;          // the same for a row of a box that is outside of the operand
  int64_t reduction_launch;          // ns of a second launch that reduces partials
  int64_t reduction_bytes_per_ns;    // read bandwidth of that launch
  int64_t reduction_bytes_per_block; // read bandwidth of one of its blocks
  int64_t sms_per_cluster_group;     // SMs of a GPC; a cluster lies within one GPC
};

extern const CostTables h200_costs;

} // namespace tritonc
