// Schedules in which all warps of a block do the same: they copy, and they multiply.

#pragma once

#include "schedule/candidate.h"
#include "schedule/cost_model.h"
#include "schedule/tile_shapes.h"

#include <optional>

namespace tritonc {

/// Programs coarsened to CostTables::coarsened, with 16-bit operands, and a K tile of which three
/// stages fit. Nothing if the function cannot have this schedule.
std::optional<Candidate> coarsened_schedule(const MatmulSetting &setting, const Problem &problem,
                                            const Gpu &gpu);

/// Programs coarsened to CostTables::multistage_wgmma, with 16-bit operands that are copied 16
/// bytes at a time. Nothing if the function cannot have this schedule.
std::optional<Candidate> multistage_wgmma_schedule(const MatmulSetting &setting,
                                                   const Problem &problem, const Gpu &gpu);

/// One program per block, for kernels whose loops have other dots than a matmul's: several, of
/// computed operands, or with accumulators that the loop changes. wgmma multiplies at least one dot
/// in a loop. Nothing if the GPU has no wgmma, or no such dot fits it. `canonical` is a result of
/// canonical_form.
std::optional<Candidate> wgmma_schedule(const ir::Function &canonical, const Gpu &gpu);

/// The same for a matmul whose operands TMA and producer warps cannot load, such as the pixels of a
/// convolution. cp.async must copy both operands, 16 bytes at a time. It has a cost if `problem` is
/// known.
std::optional<Candidate> gathered_wgmma_schedule(const MatmulSetting &setting,
                                                 const std::optional<Problem> &problem,
                                                 const Gpu &gpu);

/// One program per block and one block per SM, for programs with too few rows for wgmma. Reading B
/// takes most of the time, so as many copies as possible are in flight. The operands are those of
/// multistage_wgmma_schedule. Nothing if the function cannot have this schedule.
std::optional<Candidate> one_block_per_sm_schedule(const MatmulSetting &setting,
                                                   const Problem &problem, const Gpu &gpu);

/// Whether the baseline copies an operand by loads, element by element or a few at a time, because
/// cp.async cannot.
bool copies_through_registers(const MatmulSetting &setting, const Gpu &gpu);

/// The baseline on GPUs without wgmma: one program per block. Its K tile is shorter than that of
/// the source if the loop would have too many instructions, or leave no room for a second block. It
/// has a cost if tensor cores multiply and `problem` is known.
Candidate baseline_schedule(const MatmulSetting &setting, const std::optional<Problem> &problem,
                            const Gpu &gpu);

} // namespace tritonc
