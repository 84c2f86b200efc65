// Matrix descriptors: where in shared memory wgmma finds an operand.
//
// PTX ISA, "Asynchronous Warpgroup-Level Matrix Shared Memory Layout": "Matrix Descriptor Format",
// "Strides", "Swizzling modes". 64 bits:
//
//      0 - 13   start address         62 - 63   swizzle: 0 none, 1 128 bytes, 2 64, 3 32
//     16 - 29   leading byte offset   49 - 51   base offset
//     32 - 45   stride byte offset    others    reserved, 0
//
// Addresses and offsets have 18 bits of which the 4 lowest aren't encoded. An operand is `rows`
// (M or N) times 32 bytes of k. Its 16-byte chunks lie, from the start address on, with span W,
//
//     K-major, chunk c (0 or 1) of row r        (r % 8) W + (r / 8) stride + 16 c
//         without swizzle                       (r % 8) 16 + (r / 8) stride + leading c
//     MN-major, rows 8j to 8j + 7 of column k   (k % 8) W + (k / 8) stride
//                                               + (j % (W / 16)) 16 + (j / (W / 16)) leading
//         without swizzle                       (k % 8) 16 + (k / 8) leading + stride j
//
// and then change places as in a tensor copy's box, by address (tensor_map.h, `swizzled`), less 128
// times the base offset. MN-major operands have 16-bit elements. An H200 doesn't look at the
// leading offset of a swizzled K-major operand.

#pragma once

#include "tensor_map.h"

#include <cstdint>

namespace tritonc::emulator::models {

struct MatrixDescriptor {
  uint32_t start = 0; // in the block's window of 256 KiB of addresses
  uint32_t leading = 0;
  uint32_t stride = 0;
  unsigned base_offset = 0; // the swizzle's pattern begins 128 times this behind multiples of 1024
  Swizzle swizzle = Swizzle::none;
};

/// Null, or what is wrong: "reserved bits aren't 0".
const char *decode_descriptor(MatrixDescriptor &result, uint64_t bits);

/// For tests and kernels written by hand. Offsets are multiples of 16 below 2^18.
uint64_t encode_descriptor(const MatrixDescriptor &descriptor);

enum class Major : std::uint8_t { k, mn };

/// Where the chunks of rows `begin` to `begin + rows - 1` lie in the window: 2 `rows` addresses, in
/// the order [row][chunk] or, MN-major, [k][8 rows]. MN-major, both are multiples of 8. What lies
/// beyond the window is not wrapped around.
void chunk_addresses(uint32_t *result, const MatrixDescriptor &descriptor, Major major,
                     unsigned begin, unsigned rows);

} // namespace tritonc::emulator::models
