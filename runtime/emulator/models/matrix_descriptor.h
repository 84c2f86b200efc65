// Matrix descriptors: the layout of a wgmma operand in shared memory.
//
// PTX ISA, "Asynchronous Warpgroup-Level Matrix Shared Memory Layout": "Matrix Descriptor Format",
// "Strides", "Swizzling modes". 64 bits:
//
//      0 - 13   start address         62 - 63   swizzle: 0 none, 1 128 bytes, 2 64, 3 32
//     16 - 29   leading byte offset   49 - 51   base offset
//     32 - 45   stride byte offset    others    reserved, 0
//
// Addresses and offsets have 18 bits; the 4 lowest bits are not encoded. An operand is `rows` (M or
// N) x 32 bytes of k. Its 16-byte chunks have these offsets from the start address, for span W:
//
//     K-major, chunk c (0 or 1) of row r        (r % 8) W + (r / 8) stride + 16 c
//         without swizzle                       (r % 8) 16 + (r / 8) stride + leading c
//     MN-major, rows 8j to 8j + 7 of column k   (k % 8) W + (k / 8) stride
//                                               + (j % (W / 16)) 16 + (j / (W / 16)) leading
//         without swizzle                       (k % 8) 16 + (k / 8) leading + stride j
//
// Then the swizzle permutes the chunks by address, as in a tensor copy's box (tensor_map.h,
// `swizzled`), minus 128 times the base offset. MN-major operands have 16-bit elements. An H200
// ignores the leading offset of a swizzled K-major operand.

#pragma once

#include "tensor_map.h"

#include <cstdint>

namespace tritonc::emulator::models {

struct MatrixDescriptor {
  uint32_t start = 0; // in the block's window of 256 KiB of addresses
  uint32_t leading = 0;
  uint32_t stride = 0;
  unsigned base_offset = 0; // the swizzle pattern starts 128 * this after multiples of 1024
  Swizzle swizzle = Swizzle::none;
};

/// Returns null, or an error: "reserved bits are not 0".
const char *decode_descriptor(MatrixDescriptor &result, uint64_t bits);

/// For tests and hand-written kernels. Offsets are multiples of 16 below 2^18.
uint64_t encode_descriptor(const MatrixDescriptor &descriptor);

enum class Major : std::uint8_t { k, mn };

/// The addresses, in the window, of the chunks of rows `begin` to `begin + rows - 1`: 2 * `rows`
/// addresses in the order [row][chunk] (K-major) or [k][8 rows] (MN-major). For MN-major, `begin`
/// and `rows` must be multiples of 8. Addresses beyond the window do not wrap around.
void chunk_addresses(uint32_t *result, const MatrixDescriptor &descriptor, Major major,
                     unsigned begin, unsigned rows);

} // namespace tritonc::emulator::models
