// Writes the table of variants: resources and code sizes from ptxas, as readable text.

#pragma once

#include "emit/library.h"
#include "emit/object/bundle.h"

#include <string>
#include <vector>

namespace tritonc {

/// Aligns rows of equal length in columns: the first `text_columns` to the left, numbers to the
/// right.
std::string aligned(const std::vector<std::vector<std::string>> &rows, size_t text_columns);

/// A line of titles, then one line per variant and GPU. Every line ends with a line break. With a
/// `bundle`, its size comes last.
std::string report(const Library &library, const Bundle *bundle = nullptr);

} // namespace tritonc
