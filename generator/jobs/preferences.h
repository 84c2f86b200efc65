// Determines the order in which a launch tries the variants of a kernel.
#pragma once

#include "emit/library.h"
#include "support/result.h"

#include <string>
#include <vector>

namespace tritonc {

/// Returns a rank per variant; the runtime tries lower ranks first. The sort keys are:
///   1. variants with the values of `defaults`, if the kernel has one of these axes;
///   2. variants without spills in the best schedule for each GPU;
///   3. larger tiles (product of the tuned integers), because each loaded element is used more
///      often;
///   4. the order of the source.
/// A specialized variant has the rank of the general variant with the same values. At launch, the
/// runtime chooses a smaller tile if the grid is too small.
std::vector<int> preferences(const std::vector<Axis> &axes, const std::vector<Variant> &variants,
                             const std::vector<Define> &defaults = {});

/// Parses a default variant into axes and values; an empty text gives none. Fails if no variant of
/// the library has these values.
Result<std::vector<Define>> default_values(const std::string &text, const Library &library);

} // namespace tritonc
