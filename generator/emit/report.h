// The table of variants: what the GPU's assembler made of each, for people.

#pragma once

#include "emit/bundle.h"
#include "emit/library.h"

#include <string>
#include <vector>

namespace tritonc {

/// Rows of the same length in columns: text to the left, numbers to the right.
std::string aligned(const std::vector<std::vector<std::string>> &rows, size_t text_columns);

/// One line per variant and GPU, under a line of titles; every line ends in a line break.
/// It ends with the size of the `bundle` that images are in, if they are.
std::string report(const Library &library, const Bundle *bundle = nullptr);

/// "half N T 128 64 32": the variant's values in the order of the axes.
std::string variant_name(const KernelEntry &kernel, const Variant &variant, const char *separator);

} // namespace tritonc
