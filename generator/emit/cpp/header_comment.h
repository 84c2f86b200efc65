// Writes the first comment of a generated header: an example call and facts about the kernels.

#pragma once

#include "emit/interface.h"

#include <string>

namespace tritonc {

/// An example call of the first kernel, then facts about all kernels: axes, requirements, grids,
/// and the rule that chooses a variant. It uses only facts from the front end.
std::string opening_comment(const Library &library, const Interface &interface);

} // namespace tritonc
