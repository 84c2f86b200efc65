// Temporary folders and kernel files for tests.

#pragma once

#include "language/front_end.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace tritonc::test {

/// A new folder. The destructor removes it with all files.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::random_device random;
    do
      path_ = std::filesystem::temp_directory_path() / ("tritonc-test-" + std::to_string(random()));
    while (!std::filesystem::create_directory(path_));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;

  /// Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &text) const {
    std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }
  std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

/// A temporary file kernel.tc with the contents `text`, and macros.
struct KernelFile {
  explicit KernelFile(const std::string &text, std::vector<Define> defines = {}) {
    input.path = folder.write("kernel.tc", text);
    input.defines = std::move(defines);
  }
  TemporaryFolder folder;
  FrontEndInput input;
};

} // namespace tritonc::test
