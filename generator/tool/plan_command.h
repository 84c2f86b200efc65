// The output of `tritonc plan`: the variants, the excluded variants with the reason, and the cost
// of the compilation.
#pragma once

#include "compile.h"

#include <string>

namespace tritonc {

struct CommandLine;

/// The plan as text: one line per variant, followed by its kernels, then totals.
std::string plan_text(const CompileOptions &options, const Plan &plan,
                      const PlannedKernels &planned);

/// The plan as JSON, including all excluded variants.
std::string plan_json(const CompileOptions &options, const Plan &plan,
                      const PlannedKernels &planned);

ExitCode run_plan(CommandLine &line);

} // namespace tritonc
