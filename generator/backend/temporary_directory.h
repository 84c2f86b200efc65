// A private directory for one child process, gone when its owner is.
#pragma once

#include "backend/result.h"

#include <mutex>
#include <string>
#include <string_view>

namespace tritonc {

/// Where files of the tool-chain's children live. Only our user may look inside (mode 0700).
class TemporaryDirectory {
public:
  /// In memory (/dev/shm) where that can be written and has room, else in $TMPDIR or /tmp.
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

/// Removes every temporary directory that exists now; for a program that is being interrupted.
/// None is made while the result lives.
[[nodiscard]] std::unique_lock<std::mutex> remove_temporary_directories();

} // namespace tritonc
