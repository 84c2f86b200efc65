// `tritonc cache`: shows the status of the cache, clears it or trims it.
#pragma once

#include "diagnostics/exit_code.h"
#include "jobs/cache.h"

namespace tritonc {

struct CommandLine;

enum class CacheCommand { status, clear, trim };

/// Runs the command and returns the text for standard output.
Result<std::string> run_cache_command(CacheCommand command, const CacheOptions &options);

ExitCode run_cache(const CommandLine &line, CacheCommand command);

} // namespace tritonc
