// Writes all output files, or none.
//
// Each file is written under a temporary name in its folder, synced to disk, and then renamed. So a
// reader always sees the complete old file or the complete new file.

#pragma once

#include "support/result.h"

#include <optional>
#include <string>
#include <vector>

namespace tritonc {

struct OutputFile {
  std::string path;
  std::string content;
  bool even_if_unchanged = false; // false: a file with equal content keeps its timestamp
};

/// An error if one of the files probably cannot be written. Call it before the compilation, so that
/// a misspelled folder fails early.
std::optional<Error> check_writable(const std::vector<std::string> &paths);

/// Writes all files, in this order. Put the file whose timestamp decides about the others last.
/// After an error each file is unchanged or deleted.
std::optional<Error> write_files(const std::vector<OutputFile> &files);

} // namespace tritonc
