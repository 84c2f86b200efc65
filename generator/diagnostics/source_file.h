// Access to source files: only regular files can be opened, so a kernel that includes a device or a
// pipe gets an error and does not hang the compiler.

#pragma once

#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/Support/VirtualFileSystem.h"

#include <cstdint>
#include <string>

namespace tritonc {

/// The limit of handwritten files: sources, lists of variants.
constexpr uint64_t max_source_bytes = uint64_t(16) << 20;

/// The file system, restricted to regular files and directories.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> regular_files();

/// Why the compiler cannot read the file; empty if it can.
struct FileProblem {
  std::string error; // message of the operating system: "No such file or directory"
  std::string kind;  // if it is not a regular file, its kind: "a directory"
  bool is_too_large = false;
  explicit operator bool() const { return !error.empty() || !kind.empty() || is_too_large; }
};
FileProblem problem_with(const std::string &path, uint64_t max_bytes = max_source_bytes);

} // namespace tritonc
