// Fast matmuls of whole tiles with the accumulation rules of tensor cores (accumulation.h).
//
// A thread of a warp holds four elements of D at a time: two adjacent elements in row g and the
// same two in row g + 8 (fragments.h). So the unit of work here is a *strip*: accumulators in the
// order in which threads hold them,
//
//     (g, n), (g, n + 1), (g + 8, n), (g + 8, n + 1), (g, n'), (g, n' + 1), ...
//
// So no gather from registers or scatter to registers is needed.
//
// If every sum of a tile is exact (integers, for example), a strip uses fused multiply-adds, which
// are fast. Otherwise it follows the definition. The results are the same.

#pragma once

#include "accumulation.h"

#include <cstddef>
#include <cstdint>

namespace tritonc::emulator::models {

/// The operands that all strips of a tile share. The caller owns the arrays, aligned to 32 bytes.
struct Tile {
  unsigned k = 0;     // products per result, a multiple of 4
  unsigned width = 0; // accumulators per strip, a multiple of 8
  /// [i][width]: {B(i, n), B(i, n + 1), B(i, n), B(i, n + 1), B(i, n'), ...}.
  const float *b = nullptr;
  /// From `exponents`; not needed if every sum is exact.
  const int32_t *b_exponents = nullptr;
  int min_a = -126, min_b = -126; // min_exponent of the operands' types
};

struct Strip {
  /// [i][4]: {A(g, i), A(g, i), A(g + 8, i), A(g + 8, i)}.
  const float *a = nullptr;
  const int32_t *a_exponents = nullptr;
  float *accumulators = nullptr;
};

/// The range of a matrix's values: all are multiples of `unit`, a power of two, and no magnitude
/// exceeds `highest`. With a NaN or an infinity, `highest` is NaN or infinity.
struct Extent {
  float unit = 0x1p126f, highest = 0;
};

/// The extent of the `n` values at `x`; `n` is a multiple of 8.
Extent extent(const float *x, size_t n);

/// Whether all sums of products are exact in any order, provided that the accumulators are
/// multiples of `unit` and at most `room` units.
struct Exactness {
  Exactness() = default;
  Exactness(const Accumulation &how, unsigned k, Extent a, Extent b);

  bool products = false;
  float unit = 0; // of the products: a's unit * b's unit
  float per_unit = 0;
  float room = 0; // max magnitude of the accumulators, in units
};

/// Writes the exponents of the `n` values at `x`, at least `min_exponent`, with codes for zero and
/// for infinities and NaN. `n` is a multiple of 8.
void exponents(int32_t *result, const float *x, size_t n, int min_exponent);

/// Adds the products to the accumulators of 8 strips, block after block in the order of k. The
/// caller handles unpacking (`how.unpacked`). Returns false and does nothing if it needs exponents
/// and `tile.b_exponents` is null.
bool multiply_add(const Accumulation &how, const Exactness &exact, const Tile &tile,
                  const Strip strips[8]);

/// Adds products without checks, for 8-bit integers as floats, at most 128 products. The
/// accumulators are integers.
void multiply_add_integers(const Tile &tile, const Strip strips[8]);

// Conversion of operands to strips. The rows of A and the columns of B, `k` elements each, are
// contiguous. `k` is a multiple of 4.

/// Strip::a for 8 strips, [8][4 k] at `a4`, from 16 rows of A.
void lay_out_a(float *a4, const float *rows, unsigned k);
/// Writes 4 elements of Tile::b for each of the four t, from 8 columns of B. `apart`: distance from
/// one t to the next; `stride`: distance from one i to the next, in elements.
void lay_out_b(float *b, size_t apart, size_t stride, const float *columns, unsigned k);
/// The same from 8 columns of `k` rows of B; `row` is the stride of the rows.
void lay_out_b_rows(float *b, size_t apart, size_t stride, const float *rows, size_t row,
                    unsigned k);

/// Gather the operands of mma.sync from registers: 16 rows of A, 8 columns of B, with `words` words
/// (4 or 8) each. A word is one register.
void gather_a(uint32_t *rows, const uint32_t *const registers[32], unsigned words);
void gather_b(uint32_t *columns, const uint32_t *const registers[32], unsigned words);

/// Widens the `n` values in memory to floats; `n` is a multiple of 8.
void widen(Input input, float *result, const void *bits, size_t n);

/// For tests: selects the code for the architecture's baseline instead of the machine's extensions.
/// Returns whether the baseline code is now in use. Don't call it while another thread computes.
bool use_portable_code(bool portable);

} // namespace tritonc::emulator::models
