// The library that headers, objects and manifests are emitted from, as it follows from the variants
// and what was compiled of them.
#pragma once

#include "kernel_job.h"
#include "translated_variant.h"

#include <vector>

namespace tritonc {

/// All that is known before the back end runs: everything but images and preferences.
Library describe_library(const CompileOptions &options,
                         const std::vector<TranslatedVariant> &variants);

/// Takes the values away that none of a kernel's variants has: they are other kernels'.
void prune_axes(Library &library);

/// Gives the library the images of `jobs`, and the order in which a launch tries variants; those
/// with the values of `defaults` first. Jobs run through variants and their kernels in the order of
/// `describe_library`.
void add_images(std::vector<KernelJob> &jobs, const std::vector<TranslatedVariant> &variants,
                const std::vector<Define> &defaults, Library &library);

} // namespace tritonc
