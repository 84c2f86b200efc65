// The depfile: which files the outputs were made from, in the form that Make, Ninja and CMake read.

#pragma once

#include "backend/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace tritonc {

/// `target: dependency...`, one dependency a line, in alphabetical order, each once. Fails for
/// names that the form cannot express (a line break).
Result<std::string> depfile(const std::vector<std::string> &targets,
                            const std::vector<std::string> &dependencies);

} // namespace tritonc
