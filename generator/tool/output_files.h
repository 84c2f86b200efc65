// Writes the outputs of a command: all or none, after everything has succeeded, the stamp last.
#pragma once

#include "compile.h"
#include "tool/command_line.h"

#include <optional>
#include <string>

namespace tritonc {

/// Writes all requested outputs of `tritonc compile`.
std::optional<Error> write_outputs(const CommandLine &line, CompileResult &result);

/// Writes the text to standard output. Every command prints through it, so that a full disk or a
/// closed pipe gives an error and not the exit code of success.
ExitCode print(const std::string &text);

} // namespace tritonc
