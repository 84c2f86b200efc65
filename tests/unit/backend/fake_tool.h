// A shell script in place of ptxas or fatbinary, for tests of tool failures.
#pragma once

#include "support/temporary_directory.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tritonc {

class FakeTool {
public:
  FakeTool(const std::string &name, const std::string &script) : directory_(make()) {
    std::ofstream(path(name)) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path(name), std::filesystem::perms::owner_all);
    path_ = path(name);
  }

  const std::string &path() const { return path_; }
  std::string path(const std::string &name) const { return directory_.file(name); }

private:
  static TemporaryDirectory make() {
    Result<TemporaryDirectory> directory = TemporaryDirectory::make();
    REQUIRE(directory);
    return std::move(*directory);
  }

  TemporaryDirectory directory_;
  std::string path_;
};

} // namespace tritonc
