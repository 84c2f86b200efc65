// Defines the cost tables of GPUs. See cost_tables.h.
//
// Tested by tests/unit/schedule/matmul_cost_test.cpp, and by matmul_times_test.py and loop_times_test.py
// in tests/bench/tests/.

#include "target/cost_tables.h"

namespace tritonc {

namespace {

// Sorted from the tile with the fewest bytes per accumulator element to the tile that keeps the
// most SMs busy. Fitted, with the rows and the split-K below, to the times of all images of matmul,
// matmul_masked and matmul_batched in f16 on an H200 (driver 580.159.04, 2026-11-29): 739 random
// problems of all layouts, sizes from 8 to 32768, also thin ones, after a flush of L2. In 740 other
// problems, the image with the lowest cost took 1.03 times as long as the fastest image (geometric
// mean).
constexpr MeasuredTile by_tma[] = {
    {{128, 256, 1}, 855, 1475},
    // Stream-K: for a last wave with few tiles, and long K. Fitted to 416 of 833 such problems
    // (2026-11-30); the time of a partial is larger than fitted, so that fewer launches lose.
    {{128, 256, 1}, 864, 6412, 0, 1, 0, 1, 10000},
    // Multicast: for rows that TMA copies slowly, see row_time.
    {{128, 256, 1}, 927, 1560, 0, 1, 0, 2},
    // Ping-pong; the row without it is for kernels that cannot have ping-pong.
    {{128, 128, 1}, 470, 1128, 0, 2, 951},
    {{128, 128, 1}, 456, 570},
    {{64, 128, 1}, 249, 837},
    // For few columns: half of a wider tile would be outside of the matrix.
    {{128, 64, 1}, 389, 1307, 0, 2, 884},
    {{64, 64, 2}, 178, 498},
    {{64, 64, 2}, 223, 1313, 0, 1, 0, 4},
    {{64, 32, 2}, 89, 498},
    // The reduction within a cluster is limited by the path between SMs.
    {{64, 64, 2, 4}, 153, 4058},
    {{64, 32, 2, 4}, 94, 2233},
    // For few rows or columns.
    {{64, 16, 2}, 151, 405},
    {{64, 16, 2, 4}, 201, 2321},
    {{16, 64, 2}, 76, 390},
    {{16, 64, 2, 4}, 197, 2368},
};

// With more tiles, there are fewer partials per tile, and all partials have to be stored. Larger
// tiles load less per accumulator element.
constexpr MeasuredTile split_k[] = {{{64, 128, 1}, 220, 3986}, {{128, 128, 1}, 506, 5720}};

// Producer warps that load element by element, in the worst case. The loads in flight are the
// limit, so there are as many producer threads as registers allow. Fitted to the times of all
// images of matmul_masked in f16 on an H200 (2026-11-27): 500 random problems of odd sizes, all
// layouts. In 1000 others, the image with the lowest cost took 1.003 times as long as the fastest
// (geometric mean), at a mean error of the costs of 11 %.
constexpr MeasuredTile by_threads[] = {
    {{128, 256, 1}, 2641, 4750, 4},
    {{128, 128, 1}, 1100, 2578, 8},
    {{64, 128, 1}, 972, 2015, 8},
    {{64, 64, 1}, 746, 1765, 8},
};

// The same of convolutions that gather each pixel by itself, in nchw, and in nhwc with odd numbers
// of channels (2026-11-28): 800 random problems. In 800 others, the image with the lowest cost took
// 1.018 times as long as the fastest (geometric mean), at a mean error of the costs of 16 %. The tile
// of 128 x 128 was fitted to an earlier state: conv2d no longer has it.
constexpr MeasuredTile gathered_by_threads[] = {
    {{128, 128, 1}, 2269, 9618, 8},
    {{64, 128, 1}, 804, 1985, 8},
    {{64, 64, 1}, 801, 1498, 8},
};

// TMA and mma, on an H200 without wgmma (2026-11-22), compared with `coarsened`: 1.02 to 1.26 times
// as fast in each of 44 matmuls of one wave and of many waves, K from 64 to 8192, in all layouts.
// Tiles of 128 x 128 are slower than `coarsened`.
constexpr MeasuredTile by_mma[] = {{{128, 256, 1}, 1015, 800}};

} // namespace

const CostTables h200_costs = {
    .by_tma = by_tma,
    .by_threads = by_threads,
    .gathered_by_threads = gathered_by_threads,
    .by_mma = by_mma,
    .split_k = split_k,
    // A block with a larger tile reads less from shared memory per accumulator element. An SM has
    // room for the accumulator of one tile of 128 x 256, or for two programs of 128 x 128. H200
    // with code for sm_80, driver 580.159.04, f16, 2026-11-22.
    .coarsened = {{128, 256, 1}, 1080, 1500},
    .multistage_wgmma = {{64, 32, 2}, 332, 1623},
    // Fitted to 18,000 and 4,700 times of f16 on an H200 (driver 580.159.04, 2026-11-22), tiles of
    // 32 x 32 to 128 x 128, K tiles of 32 and 64. The error is 11 % and 8 % (root mean square).
    // Beside wgmma, all but the launch are 1.53 times these times since the fit of by_tma.
    .programs_without_wgmma = {12000, 18, 800, 28000, 50000, 44, 1300},
    .programs_beside_wgmma = {71700, 49, 244, 61000, 366000, 76, 930},
    // Fitted with by_threads, see there.
    .copies = {2720, 414, 22980, 467, 0.219, 98, 136, 0},
    // Fitted to the times of conv2d in f16, nhwc, on an H200 (driver 580.159.04, 2026-11-28): 800
    // random convolutions with windows of 2 to 5, channels in multiples of 8. In 1079 others, the
    // image with the lowest cost took 1.004 times as long as the fastest (geometric mean), at a mean
    // error of the costs of 18 %.
    .gathered = {0, 83, 0, 4311, 0.564, 0, 0, 705},
    // Fitted with gathered_by_threads, see there.
    .gathered_copies = {1054, 4, 24780, 3048, 0.182, 0, 72, 949},
    // Fitted to times of 19 families of kernels without a matmul on an H200 (driver 580.159.04,
    // 2026-11-27): softmax, norms, cross-entropy, gradients, sums, moments, argmax, moves; 657
    // random problems of f16 and f32, 11335 times of their images (tests/bench/run times and fit).
    // In 656 further problems, the code with the lowest cost took 1.03 times as long as the fastest
    // code (geometric mean of the families), at most 2.05 times: moments. With 2048 elements of
    // several programs per block, rows of 512 and 1024 elements took 2.1 and 1.3 times as long.
    // .exchange has a fit of its own, since the blocks of a cluster send their totals: 1024
    // problems.
    .elementwise =
        {.launch = 3370,
         .iteration = 43,
         .wait = 291,
         .reduction = 195,
         .exchange = 300,
         .exchanged_element = 0.71,
         .of_thread_alone = 0.32,
         .access = 23,
         .program = 118,
         .of_element = 0.00196,
         .bytes_per_ns = 4300,
         .edge_bytes = 8,
         .next_part_bytes = 64,
         .batch_elements = 4096,
         .threads_with_weights = 768,
         // With smaller tiles, clusters are hardly faster (H100), and each schedule of each
         // variant is an image.
         .cluster_elements = 2048},
    // Fitted to the times of attention on an H200 (driver 580.159.04, 2026-11-30; bench.loop_times),
    // f16 and bf16, 1705 random shapes. In 1706 others, the code with the lowest cost took 1.013 times as
    // long as the fastest (geometric mean), at a mean error of the costs of 9 %. .of_loaded_byte is from
    // 289 random shapes of matmul_glu and 714 of attention (2026-12-01), with the other times as they
    // were. In half of them, the code with the lowest cost took 1.008 and 1.014 times as long as the
    // fastest, at a mean error of 23 % and 9 %.
    .loops = {.launch = 4390,
              .rest = 2030,
              .of_thread_alone = 0.508,
              .of_element = 0.00307,
              .multiplied = 0.000336,
              .of_loaded_byte = 0.001,
              .bytes_per_ns = 153},
    .launch = 1300,
    .bytes_per_ns = 3800, // M = 64, N = K = 8192
    .bytes_per_ns_baseline = 3000,
    .bytes_per_ns_multistage = 3900,
    .multistage_start = 300,
    // Fitted with by_tma.
    .row_time = 1717,
    .unaligned_row_time = 3379,
    .outside_row_time = 4413,
    .reduction_launch = 2000,
    .reduction_bytes_per_ns = 1866,
    .reduction_bytes_per_block = 8,
    .sms_per_cluster_group = 18,
};

} // namespace tritonc
