// The comment that opens a generated header: how to call the kernels, and what they are.

#pragma once

#include "emit/interface.h"

#include <string>

namespace tritonc {

/// Usage of the first kernel, then facts of all: axes, requirements, grids, and the rule by which a
/// variant is chosen. Only what the front end knows.
std::string opening_comment(const Library &library, const Interface &interface);

} // namespace tritonc
