// Split-K through a workspace: two launches divide the K loop of a matmul among blocks.

#pragma once

#include "schedule/candidate.h"
#include "schedule/tile_shapes.h"

#include <optional>
#include <vector>

namespace tritonc {

/// Launches that share the work: the first stores partials, the second reduces them.
struct SplitK {
  Schedule partials, reduction;
};

/// `first`: the schedule that would run the whole K loop, with its `blocks_per_sm`. Nothing if the
/// loop cannot be divided.
std::optional<SplitK> split_k_launches(const MatmulSetting &setting, Schedule first);

/// The launches that divide the baseline among blocks. Nothing if the loop cannot be divided.
std::vector<Candidate> split_k_of_copies(const MatmulSetting &setting, CopyingMatmul copies,
                                         const Gpu &gpu);

} // namespace tritonc
