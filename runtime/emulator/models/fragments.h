// Which thread holds which element of a matrix: the fragments of mma.sync, wgmma, ldmatrix.
//
// PTX ISA, "Matrix Fragments for mma.m16n8k16 ..." has a table for each shape and type. All follow
// one rule. With g = lane / 4, t = lane % 4, and E elements to a register (4, 2 or 1: 8, 16, 32 or
// 64 bits), element e of register r is
//
//     of A (M x K):  row g + 8 (r % 2), column 4E (r / 2) + E t + e   (M = 16)
//                    row g,             column E t + e                (M = 8; one register)
//     of B (K x N):  row 4E r + E t + e, column g
//     of C and D:    row g + 8 (r / 2), column 2t + r % 2
//
// wgmma's A has 64 rows, 16 to a warp, and is for each warp as above; so is D, which goes on with
// the next 8 columns after every fourth register (PTX ISA, "Asynchronous Warpgroup-Level Matrix
// Register Fragment").

#pragma once

#include <cstdint>

namespace tritonc::emulator::models {

struct Place {
  unsigned row, column;
  friend constexpr bool operator==(Place, Place) = default;
};

/// `per_register`: elements to a register.
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

/// `lane` may count a warpgroup's threads, 0 to 127, and r go up to N / 2.
constexpr Place place_in_d(unsigned lane, unsigned r) {
  unsigned warp = lane / 32;
  lane %= 32;
  return {16 * warp + lane / 4 + 8 * (r / 2 % 2), 8 * (r / 4) + 2 * (lane % 4) + r % 2};
}

/// ldmatrix and stmatrix: which of a matrix's 8 x 8 16-bit elements a lane holds in the low
/// (`half` 0) and high half of a register. Register m is of matrix m, whose row i is at the
/// address that lane 8m + i gives (PTX ISA, "ldmatrix").
constexpr Place place_in_8x8(bool transposed, unsigned lane, unsigned half) {
  unsigned outer = lane / 4, inner = 2 * (lane % 4) + half;
  return transposed ? Place{inner, outer} : Place{outer, inner};
}

} // namespace tritonc::emulator::models
