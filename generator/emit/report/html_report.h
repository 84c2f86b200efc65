// Writes the HTML page of tritonc report, with the details of each variant.

#pragma once

#include "emit/library.h"

#include <string>

namespace tritonc {

/// One self-contained HTML file. `explanation` is the output of --explain. For images without
/// details it has no instructions and layouts.
std::string report_page(const Library &library, const std::string &explanation);

} // namespace tritonc
