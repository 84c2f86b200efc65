// `tritonc report`: compiles like `tritonc compile` and writes an HTML page about the result.
#pragma once

#include "diagnostics/exit_code.h"

namespace tritonc {

struct CommandLine;

ExitCode run_report(CommandLine &line);

} // namespace tritonc
