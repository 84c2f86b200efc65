// Computes wgmma: moves operands from shared memory and registers to strips. See wgmma.h.

#include "wgmma.h"

#include "mma_tile.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

namespace tritonc::emulator::models {

namespace {

constexpr unsigned max_columns = 256, max_k = 32, max_width = max_columns / 2;

// Buffers, one per OS thread: too large for a fiber's stack. A strip holds a thread's accumulators.
struct Work {
  alignas(32) std::byte bytes[max_columns * 32];    // an operand's bytes without swizzle
  alignas(32) float a[64 * max_k];                  // by rows
  alignas(32) float b[max_columns * max_k];         // by columns; MN-major: by k
  alignas(32) float strips_a[4][8 * 4 * max_k];     // by warps
  alignas(32) float strips_b[4][max_k * max_width]; // by t = lane % 4
  alignas(32) int32_t a_exponents[4][8 * 4 * max_k];
  alignas(32) int32_t b_exponents[4][max_k * max_width];
  alignas(32) float sums[8][max_width];
  uint32_t addresses[2 * max_columns];
};

Work &work() {
  thread_local std::unique_ptr<Work> mine;
  if (!mine)
    mine.reset(new Work); // not zeroed: 300 KiB
  return *mine;
}

// Copies the chunks of `rows` rows of an operand from `begin` on, contiguously.
void fetch(Work &work, const std::byte *window, const MatrixDescriptor &descriptor, Major major,
           unsigned begin, unsigned rows) {
  chunk_addresses(work.addresses, descriptor, major, begin, rows);
  for (unsigned i = 0; i < 2 * rows; i++)
    std::memcpy(work.bytes + 16 * i, window + work.addresses[i], 16);
}

// Loads the rows of A of the warps in the mask. Returns their extent.
Extent load_a(Work &work, const Wgmma &instruction, const WgmmaOperands &operands, unsigned warps) {
  unsigned k = instruction.k();
  Extent all;
  for (unsigned warp = 0; warp < 4; warp++) {
    if (!(warps >> warp & 1))
      continue;
    float *rows = work.a + 16 * warp * k;
    if (instruction.a_in_registers) {
      alignas(32) uint32_t words[16 * 8];
      gather_a(words, operands.a_registers + 32 * warp, 8);
      widen(instruction.a, rows, words, 16 * k);
    } else if (fetch(work, operands.window, operands.a, instruction.major_a, 16 * warp, 16);
               instruction.major_a == Major::k) {
      widen(instruction.a, rows, work.bytes, 16 * k);
    } else {
      widen(instruction.a, work.b, work.bytes, 16 * k); // [k][16]
      for (unsigned row = 0; row < 16; row++)
        for (unsigned i = 0; i < k; i++)
          rows[row * k + i] = work.b[i * 16 + row];
    }
    lay_out_a(work.strips_a[warp], rows, k);
    Extent one = extent(rows, 16 * k);
    all.unit = std::min(all.unit, one.unit);
    // The maximum, or NaN if one is NaN.
    if (!std::isnan(all.highest) && !(one.highest <= all.highest))
      all.highest = one.highest;
  }
  return all;
}

// `width` is the accumulators per thread, rounded up to a multiple of 8.
void load_b(Work &work, const Wgmma &instruction, const WgmmaOperands &operands, unsigned width) {
  unsigned k = instruction.k(), n = instruction.n;
  size_t apart = max_k * max_width;
  fetch(work, operands.window, operands.b, instruction.major_b, 0, n);
  widen(instruction.b, work.b, work.bytes, n * k);
  for (unsigned t = 0; t < 4 && width != instruction.accumulators(); t++)
    for (unsigned i = 0; i < k; i++)
      std::memset(work.strips_b[t] + i * width + width - 4, 0, 16);
  for (unsigned column = 0; column < n; column += 8)
    if (instruction.major_b == Major::k)
      lay_out_b(work.strips_b[0] + column / 2, apart, width, work.b + column * k, k);
    else
      lay_out_b_rows(work.strips_b[0] + column / 2, apart, width, work.b + column, n, k);
}

// The strips of a warp's threads with the same t. Their accumulators are in the registers, or
// copied if a thread's number of accumulators is not a multiple of 8.
class Group {
public:
  Group(Work &work, const Wgmma &instruction, unsigned warp, unsigned t, unsigned width,
        void *const *d)
      : bytes_(instruction.accumulators() * 4), d_(d + 32 * warp + t),
        copied_(width != instruction.accumulators()) {
    for (unsigned g = 0; g < 8; g++) {
      if (!instruction.add)
        std::memset(d_[4 * g], 0, bytes_);
      strips[g].a = work.strips_a[warp] + g * 4 * instruction.k();
      strips[g].a_exponents = work.a_exponents[warp] + g * 4 * instruction.k();
      strips[g].accumulators = static_cast<float *>(d_[4 * g]);
      if (copied_) {
        std::memset(work.sums[g], 0, width * 4);
        std::memcpy(work.sums[g], d_[4 * g], bytes_);
        strips[g].accumulators = work.sums[g];
      }
    }
  }
  void finish() {
    for (unsigned g = 0; copied_ && g < 8; g++)
      std::memcpy(d_[4 * g], strips[g].accumulators, bytes_);
  }

  Strip strips[8];

private:
  size_t bytes_;
  void *const *d_;
  bool copied_;
};

Tile tile_of(const Wgmma &instruction) {
  Tile tile;
  tile.k = instruction.k();
  tile.width = (instruction.accumulators() + 7) / 8 * 8;
  tile.min_a = min_exponent(instruction.a);
  tile.min_b = min_exponent(instruction.b);
  return tile;
}

} // namespace

const char *check(const Wgmma &instruction) {
  if (instruction.n == 0 || instruction.n > 256)
    return "N must be from 8 to 256";
  if (instruction.n % 8 != 0)
    return "N must be a multiple of 8";
  if (is_integer(instruction.a) && instruction.n > 32 && instruction.n % 16 != 0)
    return "for integers, N above 32 must be a multiple of 16";
  if (bytes_of(instruction.a) != bytes_of(instruction.b) ||
      is_integer(instruction.a) != is_integer(instruction.b))
    return "the element types of A and B do not match";
  bool transposed = instruction.major_b == Major::mn ||
                    (instruction.major_a == Major::mn && !instruction.a_in_registers);
  if (transposed && bytes_of(instruction.a) != 2)
    return "only operands with 16-bit elements can be MN-major";
  return nullptr;
}

void wgmma(const Wgmma &instruction, const Accumulation &how, const WgmmaOperands &operands,
           float *const d[128], unsigned warps) {
  Work &mine = work();
  Tile tile = tile_of(instruction);
  unsigned k = tile.k, n = instruction.n;
  Extent extent_a = load_a(mine, instruction, operands, warps);
  load_b(mine, instruction, operands, tile.width);
  Exactness exact(how, k, extent_a, extent(mine.b, n * k));
  void *pointers[128];
  for (unsigned thread = 0; thread < 128; thread++)
    pointers[thread] = d[thread];

  bool have_a_exponents = false;
  for (unsigned t = 0; t < 4; t++) {
    tile.b = mine.strips_b[t];
    tile.b_exponents = nullptr;
    for (unsigned warp = 0; warp < 4; warp++) {
      if (!(warps >> warp & 1))
        continue;
      Group group(mine, instruction, warp, t, tile.width, pointers);
      if (!multiply_add(how, exact, tile, group.strips)) {
        exponents(mine.b_exponents[t], tile.b, k * tile.width, tile.min_b);
        tile.b_exponents = mine.b_exponents[t];
        for (unsigned w = 0; w < 4 && !have_a_exponents; w++)
          if (warps >> w & 1)
            exponents(mine.a_exponents[w], mine.strips_a[w], 8 * 4 * k, tile.min_a);
        have_a_exponents = true;
        multiply_add(how, exact, tile, group.strips);
      }
      group.finish();
    }
  }
}

void wgmma(const Wgmma &instruction, const WgmmaOperands &operands, int32_t *const d[128],
           unsigned warps) {
  Work &mine = work();
  Tile tile = tile_of(instruction);
  load_a(mine, instruction, operands, warps);
  load_b(mine, instruction, operands, tile.width);
  void *pointers[128];
  for (unsigned thread = 0; thread < 128; thread++)
    pointers[thread] = d[thread];
  for (unsigned t = 0; t < 4; t++) {
    tile.b = mine.strips_b[t];
    for (unsigned warp = 0; warp < 4; warp++) {
      if (!(warps >> warp & 1))
        continue;
      Group group(mine, instruction, warp, t, tile.width, pointers);
      multiply_add_integers(tile, group.strips);
      group.finish();
    }
  }
}

} // namespace tritonc::emulator::models
