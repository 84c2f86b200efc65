// Kernel files for tests.

#pragma once

#include "language/front_end.h"
#include "support/temporary_folder.h"

#include <string>
#include <utility>
#include <vector>

namespace tritonc::test {

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
