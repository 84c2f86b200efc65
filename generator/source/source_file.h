// Source files: only regular files are read, so that a kernel that includes a device or a pipe is
// an error and not a hang.

#pragma once

#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/Support/VirtualFileSystem.h"

#include <cstdint>
#include <string>

namespace tritonc {

/// What is larger is no source that somebody wrote.
constexpr uint64_t most_source_bytes = 16 << 20;

/// The files of the machine, without anything that is neither a regular file nor a folder.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> regular_files();

/// Why the file cannot be read; empty if it can.
struct FileProblem {
  std::string error; // as the system puts it: "No such file or directory"
  std::string kind;  // what it is instead of a regular file: "a directory"
  bool is_too_large = false;
  explicit operator bool() const { return !error.empty() || !kind.empty() || is_too_large; }
};
FileProblem problem_with(const std::string &path);

} // namespace tritonc
