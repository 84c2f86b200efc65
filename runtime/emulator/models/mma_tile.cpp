// Selects the version of the vector code for this machine and dispatches to it. See mma_tile.h.

#include "mma_tile.h"

#include <bit>
#include <cmath>

#if defined(__x86_64__)
#define HAS_X86_64_V3 1
#include <immintrin.h>
#endif

// Only functions in this file pass 32-byte vectors to each other, so their ABI does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tritonc::emulator::models {

namespace {

// Special exponents. Their sum with any exponent differs from every sum of two normal exponents.
constexpr int32_t zero_code = -100'000, not_finite_code = 1'000'000;

struct Bounds {
  uint32_t unit;    // as a float's exponent field, plus 150
  uint32_t highest; // bits of the float
};

namespace portable {
#define MULTIPLY_ADD(x, y, s) ((x) * (y) + (s))
#define TWICE(four) twice(four)
#define WIDEN_HALVES(bits) widened_halves(bits)
inline float __attribute__((vector_size(32))) twice(const float *four) {
  float __attribute__((vector_size(16))) x;
  __builtin_memcpy(&x, four, sizeof x);
  return __builtin_shufflevector(x, x, 0, 1, 2, 3, 0, 1, 2, 3);
}
inline float __attribute__((vector_size(32)))
widened_halves(uint16_t __attribute__((vector_size(16))) halves) {
  using Floats = float __attribute__((vector_size(32)));
  using Unsigneds = uint32_t __attribute__((vector_size(32)));
  Unsigneds bits = __builtin_convertvector(halves, Unsigneds);
  // f16's exponent bias is 112 less. The product is also correct for subnormal f16 values.
  Floats value = (Floats)((bits & 0x7fffu) << 13) * 0x1p112f;
  Unsigneds not_finite = (Unsigneds)((bits & 0x7c00u) == 0x7c00u) & 0x7f80'0000u;
  return (Floats)((Unsigneds)value | not_finite | (bits & 0x8000u) << 16);
}
#include "mma_tile_vectors.h"
#undef MULTIPLY_ADD
#undef TWICE
#undef WIDEN_HALVES
} // namespace portable

#if HAS_X86_64_V3
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
namespace v3 {
#define MULTIPLY_ADD(x, y, s) ((Floats)_mm256_fmadd_ps((__m256)(x), (__m256)(y), (__m256)(s)))
#define TWICE(four) ((Floats)_mm256_broadcast_ps((const __m128 *)(four)))
#define WIDEN_HALVES(bits) ((Floats)_mm256_cvtph_ps((__m128i)(bits)))
#include "mma_tile_vectors.h"
#undef MULTIPLY_ADD
#undef TWICE
#undef WIDEN_HALVES
} // namespace v3
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

struct Versions {
  decltype(&portable::bounds) bounds;
  decltype(&portable::write_exponents) write_exponents;
  decltype(&portable::add) add;
  decltype(&portable::add_integers) add_integers;
  decltype(&portable::rows_to_a) rows_to_a;
  decltype(&portable::columns_to_b) columns_to_b;
  decltype(&portable::rows_to_b) rows_to_b;
  decltype(&portable::words_of_a) words_of_a;
  decltype(&portable::words_of_b) words_of_b;
  decltype(&portable::widen_all) widen_all;
};

const Versions any_machine = {
    portable::bounds,     portable::write_exponents, portable::add,       portable::add_integers,
    portable::rows_to_a,  portable::columns_to_b,    portable::rows_to_b, portable::words_of_a,
    portable::words_of_b, portable::widen_all};
#if HAS_X86_64_V3
const Versions x86_64_v3 = {v3::bounds,     v3::write_exponents, v3::add,       v3::add_integers,
                            v3::rows_to_a,  v3::columns_to_b,    v3::rows_to_b, v3::words_of_a,
                            v3::words_of_b, v3::widen_all};
#endif

const Versions &choose() {
#if HAS_X86_64_V3
  __builtin_cpu_init();
  // Every CPU with AVX2 also has F16C.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return x86_64_v3;
#endif
  return any_machine;
}

const Versions *chosen = &choose();

} // namespace

bool use_portable_code(bool portable) {
  chosen = portable ? &any_machine : &choose();
  return chosen == &any_machine;
}

Extent extent(const float *x, size_t n) {
  Bounds found = chosen->bounds(x, n);
  if (found.highest == 0)
    return {};
  int exponent = int(found.unit >> 23) - 150 - 127;
  // A smaller unit is useless, so report none.
  float unit = exponent < -126 ? 0 : std::ldexp(1.0f, exponent);
  return {unit, std::bit_cast<float>(found.highest)};
}

Exactness::Exactness(const Accumulation &how, unsigned k, Extent a, Extent b) {
  double both = double(a.unit) * double(b.unit);
  double units = k * double(a.highest) * double(b.highest) / both;
  double limit = std::ldexp(1.0, how.exact_bits());
  if (!(both >= 0x1p-120 && both <= 0x1p100) || !(units <= limit))
    return; // also for NaN; no partial sum may overflow
  products = true;
  unit = float(both);
  per_unit = float(1 / both);
  room = float(limit - units);
}

void exponents(int32_t *result, const float *x, size_t n, int min_exponent) {
  chosen->write_exponents(result, x, n, min_exponent);
}

bool multiply_add(const Accumulation &how, const Exactness &exact, const Tile &tile,
                  const Strip strips[8]) {
  return chosen->add(how, exact, tile, strips);
}

void multiply_add_integers(const Tile &tile, const Strip strips[8]) {
  chosen->add_integers(tile, strips);
}

void lay_out_a(float *a4, const float *rows, unsigned k) { chosen->rows_to_a(a4, rows, k); }

void lay_out_b(float *b, size_t apart, size_t stride, const float *columns, unsigned k) {
  chosen->columns_to_b(b, apart, stride, columns, k);
}

void lay_out_b_rows(float *b, size_t apart, size_t stride, const float *rows, size_t row,
                    unsigned k) {
  chosen->rows_to_b(b, apart, stride, rows, row, k);
}

void gather_a(uint32_t *rows, const uint32_t *const registers[32], unsigned words) {
  chosen->words_of_a(rows, registers, words);
}

void gather_b(uint32_t *columns, const uint32_t *const registers[32], unsigned words) {
  chosen->words_of_b(columns, registers, words);
}

void widen(Input input, float *result, const void *bits, size_t n) {
  chosen->widen_all(input, result, static_cast<const uint8_t *>(bits), n);
}

} // namespace tritonc::emulator::models
