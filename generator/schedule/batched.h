// The schedules in which a block runs several programs side by side.

#pragma once

#include "schedule/candidate.h"
#include "target/gpu.h"

namespace tritonc {

/// The iterations of loops that schedules unroll. A row of a power of two of elements is one tile.
/// Tiles of 5/8, 6/8 and 7/8 of it waste less on shorter rows.
inline constexpr int64_t unrolled_iterations[] = {1, 3, 5, 7};

/// Whether tiles have an axis for several programs whose loops have `iterations` iterations.
bool has_batch(const ir::Function &canonical, int64_t iterations, const Gpu &gpu);

/// Programs with few elements, side by side in a block that loads ElementwiseTimes::batch_elements:
/// with an axis of each tile for them, or by a warp each if a tile has elements for all lanes of a
/// warp. If join_rows can change the function, the axis is also used with joined rows. Nothing
/// if a program has too many elements, or neither loops nor reductions. `canonical` has no matmul.
/// `traffic`: that of the kernel.
std::vector<Candidate> batched_schedules(const ir::Function &canonical, const Traffic &traffic,
                                         const Gpu &gpu);

} // namespace tritonc
