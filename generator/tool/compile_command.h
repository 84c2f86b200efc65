// `tritonc compile`: compiles the sources and writes the outputs.
#pragma once

#include "diagnostics/exit_code.h"

namespace tritonc {

struct CommandLine;

ExitCode run_compile(CommandLine &line);

} // namespace tritonc
