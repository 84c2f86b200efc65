// `tritonc cache`: shows the status of the cache, clears it or trims it.
#pragma once

#include "jobs/cache.h"

namespace tritonc {

enum class CacheCommand { status, clear, trim };

/// Runs the command and returns the text for standard output.
Result<std::string> run_cache_command(CacheCommand command, const CacheOptions &options);

} // namespace tritonc
