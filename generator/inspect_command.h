// `tritonc inspect` and `tritonc verify`: what is in a file that was written, and whether it fits
// together.
#pragma once

#include "backend/result.h"

#include <string>
#include <vector>

namespace tritonc {

/// What is in the files, as tables or as JSON: objects, programs, self-contained headers, cubins
/// and images of fatbinary.
Result<std::string> inspect(const std::vector<std::string> &paths, bool as_json);

struct Verification {
  std::vector<Failure> problems;
  size_t images = 0; // that were looked at
};

/// Whether every image is undamaged, for the GPU and with the kernel that its descriptor says, and
/// takes the parameters that a launch passes. With a manifest, whether each image is in it.
Verification verify(const std::vector<std::string> &paths, const std::string &manifest);

} // namespace tritonc
