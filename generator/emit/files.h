// Writing outputs: all of them, or none.
//
// Each file is written under a temporary name in its own folder, forced to the disk, and renamed;
// so a reader sees the old file or the new one, whatever happens in between.

#pragma once

#include "backend/result.h"

#include <optional>
#include <string>
#include <vector>

namespace tritonc {

struct OutputFile {
  std::string path;
  std::string content;
  bool even_if_unchanged = false; // else a file that has this content already keeps its time
};

/// Whether the files can probably be written: asked before work starts, so that a misspelt folder
/// does not cost a compilation.
std::optional<Failure> check_writable(const std::vector<std::string> &paths);

/// Writes all, in this order (so the one that others are judged by comes last). After a failure
/// each file is as it was, or gone.
std::optional<Failure> write_files(const std::vector<OutputFile> &files);

} // namespace tritonc
