// Reads input files. Every command reads through it, so that a device, a pipe or an endless file
// gets an error and does not hang the compiler.
#pragma once

#include "diagnostics/source_file.h" // max_source_bytes
#include "support/result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tritonc {

/// Files that tools write: objects, bundles, tuning data, shards. 4 GiB.
constexpr uint64_t max_data_bytes = uint64_t(4) << 30;

/// Why the compiler cannot read the file; nullopt if it can. The file must be a regular file of at
/// most `max_bytes`.
std::optional<Error> find_read_error(const std::string &path, uint64_t max_bytes);

/// The content of a regular file of at most `max_bytes`.
Result<std::string> read_file(const std::string &path, uint64_t max_bytes);

} // namespace tritonc
