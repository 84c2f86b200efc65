// Source files of one test, in a temporary directory.
#pragma once

#include "support/temporary_directory.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tritonc {

class SourceFiles {
public:
  SourceFiles() : directory_(make()) {}

  /// Writes a file and returns its path.
  std::string add(const std::string &name, const std::string &text) {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  std::string path(const std::string &name) const { return directory_.file(name); }

  std::string read(const std::string &name) const {
    std::ifstream file(path(name), std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  }
  bool exists(const std::string &name) const { return std::filesystem::exists(path(name)); }

  /// The number of files in the directory.
  int count() const {
    return int(std::distance(std::filesystem::directory_iterator(directory_.path()), {}));
  }

private:
  static TemporaryDirectory make() {
    Result<TemporaryDirectory> directory = TemporaryDirectory::make();
    REQUIRE(directory);
    return std::move(*directory);
  }

  TemporaryDirectory directory_;
};

/// y = operand * x, in tiles of SIZE elements.
inline const char *scale_source = R"(
#pragma tritonc variant(TYPE: half, float)
#pragma tritonc tune(SIZE: 128, 256)
#pragma tritonc grid(n / SIZE)
__global__ void scale(TYPE *x __readonly, TYPE *y, int n, float operand) {
  int i[SIZE] = get_program_id(0) * SIZE + 0 ... SIZE;
  TYPE *px[SIZE] = x + i;
  TYPE *py[SIZE] = y + i;
  float value[SIZE] = *px;
  *py = value * operand;
}
)";

} // namespace tritonc
