// Draws layouts as SVG: the thread that holds each element of a tile, or the bank of each element
// in shared memory.

#pragma once

#include "ir/linear_layout.h"

#include <string>

namespace tritonc {

/// Escapes `text` for HTML and SVG, also inside quotes.
std::string escaped(const std::string &text);

/// The upper left corner of a tile, at most 32 rows by 32 columns. Each lane has a color, and each
/// warp has a different brightness. Adjacent elements of one thread form one field. Its tooltip
/// shows the warp, the lane and the first register.
std::string picture_of_threads(const ir::LinearLayout &layout);

/// A buffer in shared memory, at most 32 rows by 64 columns. Each of the 32 banks has a color.
std::string picture_of_banks(const ir::LinearLayout &layout, int element_bytes);

} // namespace tritonc
