// What `tritonc plan` says: the variants, those left out and why, and what compiling costs.
#pragma once

#include "compile.h"

#include <string>

namespace tritonc {

/// For people: a line for each variant, behind it its kernels, and sums.
std::string plan_text(const CompileOptions &options, const Plan &plan,
                      const PlannedKernels &planned);

/// The same and all that is left out, as JSON.
std::string plan_json(const CompileOptions &options, const Plan &plan,
                      const PlannedKernels &planned);

} // namespace tritonc
