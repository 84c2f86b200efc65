// A private temporary directory for one child process; the destructor deletes it.
#pragma once

#include "support/result.h"

#include <mutex>
#include <string>
#include <string_view>

namespace tritonc {

/// Holds the files of one toolchain process. Only the current user has access (mode 0700).
class TemporaryDirectory {
public:
  /// Makes the directory in memory (/dev/shm) if that is writable and has 64 MiB free, else in
  /// $TMPDIR or /tmp.
  static Result<TemporaryDirectory> make();

  TemporaryDirectory(TemporaryDirectory &&other);
  TemporaryDirectory &operator=(TemporaryDirectory &&) = delete;
  ~TemporaryDirectory();

  const std::string &path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

private:
  TemporaryDirectory(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_; // holds the lock that marks the directory as in use
};

/// Removes all temporary directories of this process; for the handler of an interrupt. While the
/// returned lock lives, make() cannot create a directory.
[[nodiscard]] std::unique_lock<std::mutex> remove_temporary_directories();

} // namespace tritonc
