// A temporary folder for the files of one test.

#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace tritonc {

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

  std::string path() const { return path_.string(); }
  std::string path(const std::string &name) const { return (path_ / name).string(); }

  /// Writes a file, in a new subfolder if necessary, and returns its path.
  std::string write(const std::string &name, const std::string &text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path(name);
  }
  std::string read(const std::string &name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  }
  bool exists(const std::string &name) const { return std::filesystem::exists(path_ / name); }

  /// The number of files in the folder.
  int count() const { return int(std::distance(std::filesystem::directory_iterator(path_), {})); }

private:
  std::filesystem::path path_;
};

} // namespace tritonc
