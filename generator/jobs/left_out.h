// What a library lacks on purpose: schedules that a GPU has no resources for, and tuned variants whose
// tiles are too large for one of the GPUs.
#pragma once

#include "jobs/kernel_job.h"
#include "jobs/translated_variant.h"

#include <string>
#include <vector>

namespace tritonc {

/// Leaves out what a launch on a GPU has a better choice for: a variant that differs only in tuned
/// axes, or the general variant instead of a specialization. All jobs are done.
///   - A variant that needs too much shared memory. Its jobs get a warning instead of the error.
///   - A baseline without a cost that spills, if the other one does not.
void leave_out_variants(std::vector<KernelJob> &jobs,
                        const std::vector<TranslatedVariant> &variants);

/// Adds the warning `fallback_schedule` to each kernel with a matmul in a loop that is not
/// warp-specialized on a GPU with wgmma.
void add_fallback_warnings(std::vector<KernelJob> &jobs);

/// For --explain: a line for each schedule and variant without an image, with the reason.
std::string explain_left_out(const std::vector<KernelJob> &jobs,
                             const std::vector<TranslatedVariant> &variants);

} // namespace tritonc
