// Implements `tritonc cache`. See cache_command.h.
//
// Tested by tests/unit/jobs/cache_test.cpp.

#include "tool/cache_command.h"

#include "tool/command_line.h"
#include "tool/diagnostic_printer.h"
#include "tool/output_files.h"

#include <cstdio>

namespace tritonc {
namespace {

std::string size_text(uint64_t bytes) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f MiB", double(bytes) / (1 << 20));
  return text;
}

} // namespace

Result<std::string> run_cache_command(CacheCommand command, const CacheOptions &options) {
  if (options.directory.empty())
    return std::string("cache       off\n");
  Result<Cache> cache = Cache::open(options);
  if (!cache)
    return cache.error();
  CacheStatus status = command == CacheCommand::clear  ? cache->trim(0)
                       : command == CacheCommand::trim ? cache->trim(options.limit)
                                                       : cache->status();
  return "directory   " + options.directory + "\nentries     " + std::to_string(status.entries) +
         "\nsize        " + size_text(status.bytes) + "\nlimit       " + size_text(options.limit) +
         "\n";
}

ExitCode run_cache(const CommandLine &line, CacheCommand command) {
  Result<CacheOptions> options = cache_options(line.cache_directory, line.cache_limit);
  if (!options)
    return fail(options.error());
  Result<std::string> text = run_cache_command(command, *options);
  if (!text)
    return fail(text.error());
  return print(*text);
}

} // namespace tritonc
