// Writes all output files, or none.
//
// Each file is written under a temporary name in its folder, synced to disk, and then renamed. So a
// reader always sees the complete old file or the complete new file.

#pragma once

#include "support/result.h"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

struct OutputFile {
  std::string path; // "-" = standard output
  std::string content;
  bool even_if_unchanged = false; // false: a file with equal content keeps its timestamp
};

/// An error if one of the files probably cannot be written. Call it before the compilation, so that
/// a misspelled folder fails early.
std::optional<Error> check_writable(const std::vector<std::string> &paths);

/// Writes all files, in this order. Put the file whose timestamp decides about the others last.
/// After an error each file is unchanged or deleted.
///
/// The first call for a folder removes temporary files of killed runs from it.
std::optional<Error> write_files(const std::vector<OutputFile> &files);

/// Removes all temporary files of this process; for the handler of an interrupt. Waits until the
/// renames of a write_files call have ended. While the returned lock lives, write_files creates and
/// renames nothing.
[[nodiscard]] std::unique_lock<std::mutex> remove_temporary_files();

} // namespace tritonc
