// Prints a random kernel as source text for the compiler.

#pragma once

#include "random_kernels/tree.h"

namespace tritonc::random {

/// The kernel, named `k`, with parentheses only where the language needs them.
std::string source_of(const Kernel &kernel);

std::string text_of(const Kernel &kernel, const Expr &expr);

} // namespace tritonc::random
