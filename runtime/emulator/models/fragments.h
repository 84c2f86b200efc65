// Fragments of mma.sync, wgmma, ldmatrix: the thread that holds each element of a matrix.
//
// PTX ISA, "Matrix Fragments for mma.m16n8k16 ..." has a table for each shape and type. All tables
// follow one rule. With g = lane / 4, t = lane % 4, and E elements per register (4, 2, or 1: 8, 16,
// 32 or 64 bits), element e of register r is
//
//     of A (M x K):  row g + 8 (r % 2), column 4E (r / 2) + E t + e   (M = 16)
//                    row g,             column E t + e                (M = 8; one register)
//     of B (K x N):  row 4E r + E t + e, column g
//     of C and D:    row g + 8 (r / 2), column 2t + r % 2
//
// wgmma's A has 64 rows, 16 per warp. Each warp's part of A and D follows the rule above. D
// continues with the next 8 columns after every fourth register (PTX ISA, "Asynchronous
// Warpgroup-Level Matrix Register Fragment").

#pragma once

#include <cstdint>

namespace tritonc::emulator::models {

struct Place {
  unsigned row, column;
  friend constexpr bool operator==(Place, Place) = default;
};

/// `per_register`: elements per register.
constexpr Place place_in_a(unsigned rows, unsigned per_register, unsigned lane, unsigned r,
                           unsigned e) {
  unsigned g = lane / 4, t = lane % 4;
  if (rows == 8)
    return {g, 4 * per_register * r + per_register * t + e};
  return {g + 8 * (r % 2), 4 * per_register * (r / 2) + per_register * t + e};
}

constexpr Place place_in_b(unsigned per_register, unsigned lane, unsigned r, unsigned e) {
  return {4 * per_register * r + per_register * (lane % 4) + e, lane / 4};
}

/// For wgmma, `lane` is the index in the warpgroup, 0 to 127, and r < N / 2.
constexpr Place place_in_d(unsigned lane, unsigned r) {
  unsigned warp = lane / 32;
  lane %= 32;
  return {16 * warp + lane / 4 + 8 * (r / 2 % 2), 8 * (r / 4) + 2 * (lane % 4) + r % 2};
}

/// ldmatrix and stmatrix: the element of an 8 x 8 matrix of 16-bit elements that a lane holds in
/// the low (`half` 0) or high half of a register. Register m belongs to matrix m. Lane 8m + i gives
/// the address of row i of matrix m (PTX ISA, "ldmatrix").
constexpr Place place_in_8x8(bool transposed, unsigned lane, unsigned half) {
  unsigned outer = lane / 4, inner = 2 * (lane % 4) + half;
  return transposed ? Place{inner, outer} : Place{outer, inner};
}

} // namespace tritonc::emulator::models
