// Computes mma.sync: moves registers to strips and back. See mma.h.

#include "mma.h"

#include "mma_tile.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <initializer_list>

namespace tritonc::emulator::models {

namespace {

// Reorders fp8 elements along k for unpacked accumulation (accumulation.h): in rows of 8 words, the
// low halves of all words come first, then the high halves.
void halves_first(uint32_t *rows, unsigned count) {
  for (uint32_t *row = rows; row < rows + 8 * size_t(count); row += 8) {
    uint32_t low[4], high[4];
    for (unsigned i = 0; i < 4; i++) {
      low[i] = (row[2 * i] & 0xffff) | row[2 * i + 1] << 16;
      high[i] = row[2 * i] >> 16 | (row[2 * i + 1] & 0xffff'0000);
    }
    std::memcpy(row, low, sizeof low);
    std::memcpy(row + 4, high, sizeof high);
  }
}

// A warp's operands and accumulators. A strip holds the accumulators of the four threads of one g.
template <typename Result> struct Work {
  alignas(32) float a[16 * 32]; // by rows
  alignas(32) float b[8 * 32];  // by columns
  alignas(32) float strips_a[8 * 4 * 32];
  alignas(32) float strips_b[32 * 16];
  alignas(32) Result sums[8][16];
  Tile tile;
  Strip strips[8];

  Work(unsigned k, Input type_a, Input type_b, const WarpRegisters<uint32_t, Result> &registers,
       unsigned rows, bool unpacked = false) {
    alignas(32) uint32_t a_words[16 * 8], b_words[8 * 8];
    unsigned words = k * bytes_of(type_a) / 4; // per row
    if (rows == 16) {
      gather_a(a_words, registers.a, words);
    } else { // m8n8k16: one word per lane; rows 8 to 15 are unused
      gather_b(a_words, registers.a, words);
      std::memcpy(a_words + 32, a_words, 128);
    }
    gather_b(b_words, registers.b, words);
    if (unpacked) {
      halves_first(a_words, 16);
      halves_first(b_words, 8);
    }
    widen(type_a, a, a_words, 16 * k);
    widen(type_b, b, b_words, 8 * k);
    lay_out_a(strips_a, a, k);
    lay_out_b(strips_b, 4, 16, b, k);
    for (unsigned g = 0; g < 8; g++) {
      strips[g].a = strips_a + g * 4 * k;
      strips[g].accumulators = reinterpret_cast<float *>(sums[g]);
      for (unsigned t = 0; t < 4; t++)
        std::memcpy(sums[g] + 4 * t, registers.c[4 * g + t], rows == 16 ? 16 : 8);
    }
    tile.k = k;
    tile.width = 16;
    tile.b = strips_b;
  }

  void store(const WarpRegisters<uint32_t, Result> &registers, unsigned rows) {
    for (unsigned lane = 0; lane < 32; lane++)
      std::memcpy(registers.d[lane], sums[lane / 4] + 4 * (lane % 4), rows == 16 ? 16 : 8);
  }
};

// One f64 multiply-add. If operands are NaN, returns one of them quieted, the same as an H200.
double fused(double a, double b, double c) {
  const double operands[] = {b, c, a};
  for (double operand : operands)
    if (std::isnan(operand))
      return std::bit_cast<double>(std::bit_cast<uint64_t>(operand) | uint64_t(1) << 51);
  return std::fma(a, b, c);
}

} // namespace

void mma(unsigned k, Input a, Input b, const Accumulation &how,
         const WarpRegisters<uint32_t, float> &registers) {
  Work<float> work(k, a, b, registers, 16, how.unpacked);
  work.tile.min_a = min_exponent(how.unpacked ? Input::f16 : a);
  work.tile.min_b = min_exponent(how.unpacked ? Input::f16 : b);
  Accumulation blocks = how;
  blocks.unpacked = false;
  Exactness exact(blocks, k, extent(work.a, 16 * k), extent(work.b, 8 * k));
  if (!multiply_add(blocks, exact, work.tile, work.strips)) {
    alignas(32) int32_t a_exponents[8 * 4 * 32], b_exponents[32 * 16];
    exponents(a_exponents, work.strips_a, 8 * 4 * k, work.tile.min_a);
    exponents(b_exponents, work.strips_b, 16 * k, work.tile.min_b);
    for (unsigned g = 0; g < 8; g++)
      work.strips[g].a_exponents = a_exponents + g * 4 * k;
    work.tile.b_exponents = b_exponents;
    float c[8][16];
    if (how.unpacked) {
      std::memcpy(c, work.sums, sizeof c);
      std::memset(work.sums, 0, sizeof c);
    }
    multiply_add(blocks, exact, work.tile, work.strips);
    if (how.unpacked)
      for (unsigned g = 0; g < 8; g++)
        for (unsigned i = 0; i < 16; i++)
          work.sums[g][i] = added(c[g][i], work.sums[g][i]);
  }
  work.store(registers, 16);
}

void mma(MmaShape shape, Input a, Input b, const WarpRegisters<uint32_t, int32_t> &registers) {
  Work<int32_t> work(shape.k, a, b, registers, shape.m);
  multiply_add_integers(work.tile, work.strips);
  work.store(registers, shape.m);
}

void mma(MmaShape shape, const WarpRegisters<double, double> &registers) {
  double a[16][16], b[16][8], d[16][8];
  unsigned halves = shape.m / 8;
  for (unsigned lane = 0; lane < 32; lane++) {
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned r = 0; r < shape.k / 4; r++) {
      for (unsigned half = 0; half < halves; half++)
        a[g + 8 * half][4 * r + t] = registers.a[lane][r * halves + half];
      b[4 * r + t][g] = registers.b[lane][r];
    }
    for (unsigned r = 0; r < 2 * halves; r++)
      d[g + 8 * (r / 2)][2 * t + r % 2] = registers.c[lane][r];
  }
  for (unsigned m = 0; m < shape.m; m++)
    for (unsigned k = 0; k < shape.k; k++)
      for (unsigned n = 0; n < 8; n++)
        d[m][n] = fused(a[m][k], b[k][n], d[m][n]);
  for (unsigned lane = 0; lane < 32; lane++)
    for (unsigned r = 0; r < 2 * halves; r++)
      registers.d[lane][r] = d[lane / 4 + 8 * (r / 2)][2 * (lane % 4) + r % 2];
}

} // namespace tritonc::emulator::models
