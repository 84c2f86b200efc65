// Makes and runs all kernel jobs of a compilation: one job per kernel, variant, GPU and schedule
// candidate. Jobs whose result is in the cache are already done.
#pragma once

#include "jobs/kernel_job.h"
#include "jobs/translated_variant.h"

#include <vector>

namespace tritonc {

/// Makes the jobs, ordered by variant, kernel, GPU and schedule. A null GPU means any GPU.
std::vector<KernelJob> make_jobs(const CompileSession &session,
                                 std::vector<TranslatedVariant> &variants,
                                 const std::vector<const Gpu *> &gpus);

/// Runs the jobs that are not done in parallel and stores the results in the cache. After a failure
/// of the environment (missing tool, full disk), starts no further job and stores nothing. Updates
/// the progress and the watchdog of the options.
void run_jobs(CompileSession &session, const std::vector<TranslatedVariant> &variants,
              std::vector<KernelJob> &jobs, StepTimes &times);

} // namespace tritonc
