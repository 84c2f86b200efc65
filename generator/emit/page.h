// The page of tritonc report: what was made of each variant, to be looked at in a browser.

#pragma once

#include "emit/library.h"

#include <string>

namespace tritonc {

/// One HTML file that needs no other. `explanation` is what --explain prints. Images without
/// details have no instructions and layouts there.
std::string report_page(const Library &library, const std::string &explanation);

} // namespace tritonc
