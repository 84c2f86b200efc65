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

  TemporaryDirectory(TemporaryDirectory &&other) : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  TemporaryDirectory &operator=(TemporaryDirectory &&) = delete;
  ~TemporaryDirectory();

  const std::string &path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Removes all temporary directories of this process; for the handler of an interrupt. While the
/// returned lock lives, make() cannot create a directory.
[[nodiscard]] std::unique_lock<std::mutex> remove_temporary_directories();

} // namespace tritonc
