// Products of whole tiles as tensor cores compute them (accumulation.h), fast.
//
// A thread of a warp holds four results of D at a time: two neighbours in row g and the same two
// in row g + 8 (fragments.h). So the unit of work here is a *strip*: accumulators in the order in
// which threads hold them,
//
//     (g, n), (g, n + 1), (g + 8, n), (g + 8, n + 1), (g, n'), (g, n' + 1), ...
//
// and nothing has to be gathered from the registers and scattered to them.
//
// Where the numbers of a tile allow it, every sum being exact (integers, say), a strip takes the
// fast way of fused multiply-adds; else that of the definition. The results are the same.

#pragma once

#include "accumulation.h"

#include <cstddef>
#include <cstdint>

namespace tritonc::emulator::models {

/// What all strips of a tile have in common. Arrays are the caller's, aligned to 32 bytes.
struct Tile {
  unsigned k = 0;     // products of a result, a multiple of 4
  unsigned width = 0; // accumulators of a strip, a multiple of 8
  /// [i][width]: {B(i, n), B(i, n + 1), B(i, n), B(i, n + 1), B(i, n'), ...}.
  const float *b = nullptr;
  /// As `exponents` writes them; not needed where everything is exact.
  const int32_t *b_exponents = nullptr;
  int least_a = -126, least_b = -126; // least_exponent of the operands' types
};

struct Strip {
  /// [i][4]: {A(g, i), A(g, i), A(g + 8, i), A(g + 8, i)}.
  const float *a = nullptr;
  const int32_t *a_exponents = nullptr;
  float *accumulators = nullptr;
};

/// What is known of a matrix: all its numbers are multiples of `unit`, a power of two, and none
/// has a greater magnitude than `highest`. NaN and infinities: `highest` is NaN or infinity.
struct Extent {
  float unit = 0x1p126f, highest = 0;
};

/// Of `n` numbers at `x`, a multiple of 8.
Extent extent(const float *x, size_t n);

/// Whether all sums of products are exact, whatever their order, while the accumulators, too, are
/// multiples of `unit` and not too large.
struct Exactness {
  Exactness() = default;
  Exactness(const Accumulation &how, unsigned k, Extent a, Extent b);

  bool products = false;
  float unit = 0; // of the products: unit of a * unit of b
  float per_unit = 0;
  float room = 0; // the accumulators' magnitude is at most this many units
};

/// Writes the exponents of `n` (a multiple of 8) numbers at `x`: that of the smallest normal number
/// of their type at least; codes for zero, for infinities and NaN.
void exponents(int32_t *result, const float *x, size_t n, int least_exponent);

/// Adds the products to the accumulators of 8 strips, block after block in the order of k;
/// unpacking
/// (`how.unpacked`) is the caller's business. Returns false, and does nothing, if it needs
/// exponents and `tile.b_exponents` is null.
bool multiply_add(const Accumulation &how, const Exactness &exact, const Tile &tile,
                  const Strip strips[8]);

/// Adds products without any check: for integers of 8 bits as floats, up to 128 products. The
/// accumulators are integers.
void multiply_add_integers(const Tile &tile, const Strip strips[8]);

// Operands to strips. Rows of A and columns of B of `k` numbers are one behind the other; `k` is a
// multiple of 4.

/// Strip::a for 8 strips, [8][4 k] at `a4`, from 16 rows of A.
void lay_out_a(float *a4, const float *rows, unsigned k);
/// 4 places of Tile::b for each of the four t, from 8 columns of B. `apart`: from the places of one
/// t to those of the next; `stride`: from one i to the next.
void lay_out_b(float *b, size_t apart, size_t stride, const float *columns, unsigned k);
/// The same from 8 columns of `k` rows of B; `row` is from one row to the next.
void lay_out_b_rows(float *b, size_t apart, size_t stride, const float *rows, size_t row,
                    unsigned k);

/// The operands of mma.sync from registers: 16 rows of A, 8 columns of B, of so many words (4 or
/// 8). A word is a register's elements.
void gather_a(uint32_t *rows, const uint32_t *const registers[32], unsigned words);
void gather_b(uint32_t *columns, const uint32_t *const registers[32], unsigned words);

/// `n` (a multiple of 8) numbers in memory as floats.
void widen(Input input, float *result, const void *bits, size_t n);

/// For tests: whether to leave alone what this machine has beyond its architecture's baseline.
/// Returns whether that is so now; not for use while others compute.
bool use_portable_code(bool portable);

} // namespace tritonc::emulator::models
