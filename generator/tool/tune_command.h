// `tritonc tune`, `tritonc bench` and `tritonc check`: measure kernels with a tuner (run_tuner.h).
#pragma once

#include "diagnostics/exit_code.h"

#include <string>

namespace tritonc {

struct CommandLine;

/// Measures, or reads earlier measurements, and merges the results into the output file.
ExitCode run_tune(CommandLine &line);

/// `what` is "measure": compares the launch's choice with the best variant. Or it is "check": checks
/// that all variants agree.
ExitCode run_bench(CommandLine &line, const std::string &what);

} // namespace tritonc
