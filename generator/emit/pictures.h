// Pictures of layouts, as SVG: which thread holds which element of a tile, and which bank of shared
// memory an element is in.

#pragma once

#include "ir/linear_layout.h"

#include <string>

namespace tritonc {

/// `text` as it may stand in HTML and SVG, in quotes too.
std::string escaped(const std::string &text);

/// The upper left corner of a tile, at most 32 rows by 32 columns. A colour for each lane, brighter
/// from warp to warp; neighbours of one thread are one field. Pointing at it says whose and which
/// registers.
std::string picture_of_threads(const ir::LinearLayout &layout);

/// The same of a buffer in shared memory, up to 64 columns: a colour for each of the 32 banks.
std::string picture_of_banks(const ir::LinearLayout &layout, int element_bytes);

} // namespace tritonc
