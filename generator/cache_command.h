// `tritonc cache`: what is in the cache, and less of it.
#pragma once

#include "cache.h"

namespace tritonc {

enum class CacheCommand { status, clear, trim };

/// What to say on standard output, once it is done.
Result<std::string> run_cache_command(CacheCommand command, const CacheOptions &options);

} // namespace tritonc
