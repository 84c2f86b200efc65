// What launches in a structure take, in nanoseconds: measured tiles, and formulas of what the host
// knows, which compares them at each launch.

#pragma once

#include "ir/launch_plan.h"
#include "passes/structure.h"
#include "passes/structure_tiles.h"

#include <optional>
#include <vector>

namespace tritonc {

/// A tile, and what it takes of a multiprocessor, in nanoseconds: `step` for 128 bytes along K, and
/// `rest` for what comes before and after all steps.
struct MeasuredTile {
  Tile tile;
  int64_t step, rest;
  int copying_warps = 0; // by threads
  int teams = 1;         // if two: of a piece while the other team stores what it has
  int64_t least = 0;     // of a piece, however few steps it has: then storing takes longer
};

/// Of structures with specialised warps, where the copy engine brings the factors: from the one
/// that moves the fewest bytes for each sum to the one that has work for the most multiprocessors.
/// As measured on an H200 (driver 580.159.04, f16, 2026-11-21). wgmma and the copies that feed it
/// share the bandwidth of shared memory, which is why smaller tiles take longer than their share.
/// Pairs of blocks that copy for each other are not among them: see tests/bench/README.md.
inline constexpr MeasuredTile tiles_by_engine[] = {
    {{128, 256, 1}, 711, 1500},
    // By teams (2026-11-22); without them only where there can be none. In 24 products of one to 16
    // rounds of blocks, of K from 128 to 4096, teams are 1.01 to 1.21 times as fast.
    {{128, 128, 1}, 390, 660, 0, 2, 1400},
    {{128, 128, 1}, 456, 570},
    {{64, 256, 1}, 430, 750},
    {{64, 128, 1}, 217, 560},
    {{64, 64, 2}, 153, 320},
    // Adding what the blocks of a cluster have takes as long as its way between multiprocessors.
    {{128, 128, 1, 4}, 456, 5900},
    {{64, 128, 1, 2}, 217, 2500},
    {{64, 64, 2, 4}, 153, 2200},
};

/// The tiles of sums that are divided among any number of blocks, the best one first. The more
/// tiles there are, the fewer parts each has, all of which have to be stored; smaller ones than
/// these load too much for each sum.
inline constexpr MeasuredTile tiles_of_parts[] = {{{64, 128, 1}, 217, 560},
                                                  {{128, 128, 1}, 456, 570}};

/// The same where threads copy, element by element at worst, as which it was measured. What limits
/// is how many loads are under way, so there are as many of these threads as there are registers
/// for.
inline constexpr MeasuredTile tiles_by_threads[] = {
    {{128, 256, 1}, 2830, 1900, 4},
    {{128, 128, 1}, 1240, 5600, 8},
    {{64, 128, 1}, 930, 4250, 8},
    {{64, 64, 1}, 630, 3700, 8},
};

/// The same where warps multiply by mma what the copy engine brings. As measured on an H200 without
/// wgmma (driver 580.159.04, f16, 2026-11-22), beside bundled_tile: it is 1.02 to 1.26 times as
/// fast in each of 44 products, of one round of blocks and of many, of K from 64 to 8192, however
/// the factors lie. Tiles of 128 x 128 are slower than bundled_tile.
inline constexpr MeasuredTile tiles_by_mma[] = {{{128, 256, 1}, 1015, 800}};

/// Without wgmma all warps of a block copy by cp.async and multiply by mma. The larger the block's
/// tile, the less it takes from shared memory for each sum: a multiprocessor has room for the sums
/// of one tile of 128 x 256, or of two programs of 128 x 128. As measured on an H200 with code for
/// sm_80 (driver 580.159.04, f16, 2026-11-22); of other GPUs it is not known, but it is the ratio
/// that counts.
inline constexpr MeasuredTile bundled_tile = {{128, 256, 1}, 1080, 1500};

/// What a program by itself takes of a multiprocessor, in picoseconds: for 128 bytes along K, and
/// of those for each sum, and for each row of A or column of B that is copied; for an iteration of
/// its loop; for what comes before and after; and for each sum that it stores.
struct MeasuredPrograms {
  int64_t step, sum, copied, iteration, rest, stored;
  int64_t launch; // once, in nanoseconds
};

/// Without wgmma, and beside specialised blocks with it. Fitted to 18000 and 4700 times of f16 on
/// an H200 (driver 580.159.04, 2026-11-22), of 32 x 32 to 128 x 128 sums of a program, with steps
/// of 32 and 64: 11 and 8 % off (root mean square).
inline constexpr MeasuredPrograms programs_without_wgmma = {12000, 18, 800, 28000, 50000, 44, 1300};
inline constexpr MeasuredPrograms programs_beside_wgmma = {47000, 32, 160, 40000, 240000, 50, 930};

/// The same with wgmma: no copy engine, no other warps to start.
inline constexpr MeasuredTile together_tile = {{64, 32, 2}, 150, 0};

/// What the host knows of a product: its rows and columns, K, and the bytes of an element.
struct Problem {
  Expr rows, columns, k;
  int64_t bytes;
};

/// Nothing if that is too little to compare costs by.
std::optional<Problem> problem_of(const ProductSetting &setting);

/// Of a structure that does all of the work in this tile.
Expr cost_of(const Structure &structure, const MeasuredTile &tile, const Problem &problem);

/// Of two launches: the first does as many full rounds as there are, of bundles of programs in the
/// `large` tile, the second what is left of them, each bundle cut into so many pieces along each
/// axis of the grid, in the `small` one.
Expr cost_of_shares(const std::vector<int64_t> &bundle, const MeasuredTile &large,
                    const std::vector<int64_t> &cuts, const MeasuredTile &small,
                    const Problem &problem);

/// Of two launches: the first, `structure`, stores the parts of sums in this tile, the second adds
/// them. `sum`: of a program.
Expr cost_of_parts(const Structure &structure, const MeasuredTile &tile, const ir::Shape &sum,
                   const Problem &problem);

/// Of the plain structure with 16-bit factors, beside specialised ones. `sum`: of a program.
/// `step`: how much of K an iteration takes.
Expr cost_of_plain(const ir::Shape &sum, int64_t step, const Problem &problem);

/// Of the structure whose blocks are alone, likewise.
Expr cost_of_alone(const ir::Shape &sum, int64_t step, const Problem &problem);

/// Of the plain structure where there is no wgmma, likewise.
Expr cost_of_unbundled(const ir::Shape &sum, int64_t step, const Problem &problem);

} // namespace tritonc
