// Defines the cost tables of GPUs. See cost_tables.h.
//
// Tested by tests/unit/schedule/candidates_test.cpp: which tile is best where.

#include "target/cost_tables.h"

namespace tritonc {

namespace {

// Sorted from the tile with the fewest bytes per accumulator element to the tile that keeps the
// most SMs busy. wgmma and the copies for it share the bandwidth of shared memory, so smaller tiles
// take more time per element. H200, driver 580.159.04, f16, 2026-11-21.
constexpr MeasuredTile by_tma[] = {
    {{128, 256, 1}, 711, 1500},
    // Multicast (2026-11-26): for rows that TMA copies slowly, see row_time.
    {{128, 256, 1}, 723, 1500, 0, 1, 0, 2},
    // Ping-pong (2026-11-22); the row without it is for kernels that cannot have ping-pong. In 24
    // matmuls of 1 to 16 waves, K from 128 to 4096, ping-pong is 1.01 to 1.21 times as fast.
    {{128, 128, 1}, 390, 660, 0, 2, 1400},
    {{128, 128, 1}, 456, 570},
    {{64, 256, 1}, 430, 750},
    {{64, 256, 1}, 444, 750, 0, 1, 0, 2},
    {{64, 128, 1}, 217, 560},
    {{64, 64, 2}, 153, 320},
    // The reduction within a cluster is limited by the path between SMs.
    {{128, 128, 1, 4}, 456, 5900},
    {{64, 128, 1, 2}, 217, 2500},
    {{64, 64, 2, 4}, 153, 2200},
};

// With more tiles, there are fewer partials per tile, and all partials have to be stored. Smaller
// tiles than these load too much per accumulator element.
constexpr MeasuredTile split_k[] = {{{64, 128, 1}, 217, 560}, {{128, 128, 1}, 456, 570}};

// Producer warps that load element by element, in the worst case. The loads in flight are the
// limit, so there are as many producer threads as registers allow.
constexpr MeasuredTile by_threads[] = {
    {{128, 256, 1}, 2830, 1900, 4},
    {{128, 128, 1}, 1240, 5600, 8},
    {{64, 128, 1}, 930, 4250, 8},
    {{64, 64, 1}, 630, 3700, 8},
};

// TMA and mma, on an H200 without wgmma (2026-11-22), compared with `coarsened`: 1.02 to 1.26 times
// as fast in each of 44 matmuls of one wave and of many waves, K from 64 to 8192, in all layouts.
// Tiles of 128 x 128 are slower than `coarsened`.
constexpr MeasuredTile by_mma[] = {{{128, 256, 1}, 1015, 800}};

} // namespace

const CostTables h200_costs = {
    .by_tma = by_tma,
    .by_threads = by_threads,
    .by_mma = by_mma,
    .split_k = split_k,
    // A block with a larger tile reads less from shared memory per accumulator element. An SM has
    // room for the accumulator of one tile of 128 x 256, or for two programs of 128 x 128. H200
    // with code for sm_80, driver 580.159.04, f16, 2026-11-22.
    .coarsened = {{128, 256, 1}, 1080, 1500},
    .multistage_wgmma = {{64, 32, 2}, 150, 0},
    // Fitted to 18,000 and 4,700 times of f16 on an H200 (driver 580.159.04, 2026-11-22), tiles of
    // 32 x 32 to 128 x 128, K tiles of 32 and 64. The error is 11 % and 8 % (root mean square).
    .programs_without_wgmma = {12000, 18, 800, 28000, 50000, 44, 1300},
    .programs_beside_wgmma = {47000, 32, 160, 40000, 240000, 50, 930},
    // Fitted to times of 24 families of kernels without a matmul on an H200 (driver 580.159.04,
    // 2026-11-26): softmax, norms, cross-entropy and gradients, sums, moments, argmax, moves; 671
    // random problems of f16, 16317 times of their images (tests/bench/run times and fit). In 110
    // other random problems, the code with the lowest cost took 1.03 times as long as the fastest
    // code (geometric mean of the families), at most 2.4 times. With 2048 elements of several
    // programs per block, rows of 512 and 1024 elements took 2.1 and 1.3 times as long.
    .elementwise =
        {.launch = 2810,
         .iteration = 57,
         .wait = 364,
         .reduction = 203,
         .exchange = 1070,
         .of_thread_alone = 0.706,
         .access = 25,
         .program = 117,
         .of_element = 0.00131,
         .bytes_per_ns = 4300,
         .batch_elements = 4096,
         // With smaller tiles, clusters are hardly faster (H100), and each schedule of each
         // variant is an image.
         .cluster_elements = 2048},
    .launch = 1300,
    .bytes_per_ns = 3800, // M = 64, N = K = 8192
    .bytes_per_ns_baseline = 3000,
    // Copies of 2 bytes through registers wait for memory in each K iteration. Fitted to 740 times
    // of matmul_batched in f16 on an H200 (driver 580.159.04, 2026-11-26): 185 random problems, sizes
    // from 8 to 1024, 4 variants. The error of the baseline's cost is 33 % (root mean square); without
    // this latency, it was 94 %.
    .register_copy_latency = 800,
    .bytes_per_ns_multistage = 3900,
    .multistage_start = 300,
    // 4096 and 8192 x 8192 x 1024 in f16 with 8 more elements per row: a step of 128 x 256 takes
    // 711 ns, with B so 790 and 870, with A and B so 920 and 1160 on an H200 (driver 580.159.04,
    // 2026-11-26). A step of 64 x 64 takes 215 instead of 153 ns.
    .row_time = 1100,
    .unaligned_row_time = 2500,
    .tail_launch = 3000,
    .reduction_launch = 2000,
    .reduction_bytes_per_ns = 3000,
    .reduction_bytes_per_block = 30,
    .sms_per_cluster_group = 18,
};

} // namespace tritonc
