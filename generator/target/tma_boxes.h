// The size of the boxes that TMA copies.

#pragma once

#include <cstdint>

namespace tritonc {

// TMA fills the part of a box outside of the tensor with zeros, and takes 2.4 times as long for a row
// of zeros as for a row of the tensor: on an H200 (driver 580.159.04, 2026-11-29), a matmul of
// 16,896 x N x 8192 in f16 with tiles of 128 x 256 and one box per operand took 89 us with N = 256,
// and 170 us with N = 32. Without multicast, boxes of 64 rows were as fast as one box where all rows
// are in the tensor, and boxes of 32 rows took up to 1.3 times as long.
inline constexpr int64_t predicated_box_rows = 64;

} // namespace tritonc
