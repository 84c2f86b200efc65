// Source files: only regular files are read, so that a kernel that includes a device or a pipe is
// an error and not a hang.

#pragma once

#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/Support/VirtualFileSystem.h"

#include <string>

namespace tritonc {

/// The files of the machine, without anything that is neither a regular file nor a folder.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> regular_files();

/// Why the file cannot be read; empty if it can.
struct FileProblem {
  std::string error; // as the system puts it: "No such file or directory"
  std::string kind;  // what it is instead of a regular file: "a directory"
  explicit operator bool() const { return !error.empty() || !kind.empty(); }
};
FileProblem problem_with(const std::string &path);

} // namespace tritonc
