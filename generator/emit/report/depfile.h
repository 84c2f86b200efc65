// Writes the depfile: the input files of the outputs, in the format of Make, Ninja and CMake.

#pragma once

#include "support/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace tritonc {

/// `target: dependency...`, one dependency per line, in alphabetical order, without duplicates.
/// Fails for a name with a line break, which the format cannot express.
Result<std::string> depfile(const std::vector<std::string> &targets,
                            const std::vector<std::string> &dependencies);

} // namespace tritonc
