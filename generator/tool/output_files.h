// Writes the outputs of a command: all or none, after everything has succeeded, the stamp last.
#pragma once

#include "compile.h"
#include "tool/command_line.h"

#include <optional>
#include <string>

namespace tritonc {

/// Writes all requested outputs of `tritonc compile`.
std::optional<Error> write_outputs(const CommandLine &line, CompileResult &result);

/// Writes one file; "-" is standard output.
std::optional<Error> write_output(const std::string &path, const std::string &contents);

} // namespace tritonc
