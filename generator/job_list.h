// All kernel jobs of a compilation: every wanted kernel of every variant, for every GPU, in every
// structure worth having. What the cache has is done when the list is made.
#pragma once

#include "kernel_job.h"
#include "translated_variant.h"

#include <vector>

namespace tritonc {

/// In the order of variants, of their kernels, of `gpus`, of structures. No GPU, a null pointer,
/// stands for all.
std::vector<KernelJob> make_jobs(const Workshop &workshop, std::vector<TranslatedVariant> &variants,
                                 const std::vector<const Gpu *> &gpus);

/// Runs those that are not done, side by side, and keeps in the cache what came of them. After one
/// that fails for what the machine lacks no other is begun, and nothing is kept. Tells the options'
/// progress and watchdog.
void run_jobs(Workshop &workshop, const std::vector<TranslatedVariant> &variants,
              std::vector<KernelJob> &jobs, StepTimes &times);

} // namespace tritonc
