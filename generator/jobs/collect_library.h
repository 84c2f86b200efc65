// Builds the Library, the input of the emitters, from the variants and their compiled images.
#pragma once

#include "jobs/kernel_job.h"
#include "jobs/translated_variant.h"

#include <vector>

namespace tritonc {

/// Describes the library before the back end runs: everything except images and preferences.
Library describe_library(const CompileOptions &options,
                         const std::vector<TranslatedVariant> &variants);

/// Removes the axis values that no variant of a kernel has; only other kernels use them.
void prune_axes(Library &library);

/// Adds the images of `jobs` to the library and sets the order in which a launch tries variants;
/// variants with the values of `defaults` come first. Requires jobs in the order of variants and
/// kernels that describe_library() uses.
void add_images(std::vector<KernelJob> &jobs, const std::vector<TranslatedVariant> &variants,
                const std::vector<Define> &defaults, Library &library);

} // namespace tritonc
