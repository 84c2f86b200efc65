// A random kernel as the source text that the compiler reads.

#pragma once

#include "random/tree.h"

namespace tritonc::random {

/// The kernel, called `k`, with parentheses only where the language needs them.
std::string source_of(const Kernel &kernel);

std::string text_of(const Kernel &kernel, const Expr &expr);

} // namespace tritonc::random
