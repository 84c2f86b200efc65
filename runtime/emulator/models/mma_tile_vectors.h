// The vector code of mma_tile.cpp, which includes this file several times: for any machine and, in
// a region with AVX2 and FMA enabled, for x86-64-v3. So this file has no #pragma once, no includes,
// and uses nothing from the standard library. Otherwise the linker could pick the AVX2 version of
// an inline library function for a program that runs without AVX2.
//
// The includer defines these macros:
//
//     MULTIPLY_ADD(x, y, s)   x * y + s
//     TWICE(four)             the vector of the four floats, twice
//     WIDEN_HALVES(bits)      8 f16 values to floats

using Floats = float __attribute__((vector_size(32)));
using Ints = int32_t __attribute__((vector_size(32)));
using Unsigneds = uint32_t __attribute__((vector_size(32)));
using Floats4 = float __attribute__((vector_size(16)));
using Ints4 = int32_t __attribute__((vector_size(16)));
using Longs4 = int64_t __attribute__((vector_size(32)));
using Doubles4 = double __attribute__((vector_size(32)));
using Shorts = uint16_t __attribute__((vector_size(16)));
using Bytes = uint8_t __attribute__((vector_size(8)));
using SignedBytes = int8_t __attribute__((vector_size(8)));

template <typename V> inline V load(const void *from) {
  V result;
  __builtin_memcpy(&result, from, sizeof result);
  return result;
}
template <typename V> inline void store(void *to, const V &value) {
  __builtin_memcpy(to, &value, sizeof value);
}

inline Ints larger(Ints a, Ints b) { return a > b ? a : b; }
inline Ints smaller(Ints a, Ints b) { return a < b ? a : b; }

inline bool any(Ints mask) {
  Longs4 m = (Longs4)mask;
  return (m[0] | m[1] | m[2] | m[3]) != 0;
}

inline Bounds bounds(const float *x, size_t n) {
  Unsigneds unit = Unsigneds{} + 0xffff'ffffu, highest{};
  for (size_t i = 0; i < n; i += 8) {
    Unsigneds bits = load<Unsigneds>(x + i);
    Unsigneds magnitude = bits & 0x7fff'ffffu;
    highest = magnitude > highest ? magnitude : highest;
    // The lowest bit of the significand, as the exponent of a float.
    Unsigneds significand = bits | 0x80'0000u;
    Ints lowest = (Ints)(significand & (0u - significand));
    Unsigneds exponent = (Unsigneds) __builtin_convertvector(lowest, Floats);
    Unsigneds sum = exponent + (bits & 0x7f80'0000u);
    sum |= (Unsigneds)(magnitude == 0u);
    unit = sum < unit ? sum : unit;
  }
  Bounds result{0xffff'ffffu, 0};
  for (int i = 0; i < 8; i++) {
    result.unit = unit[i] < result.unit ? unit[i] : result.unit;
    result.highest = highest[i] > result.highest ? highest[i] : result.highest;
  }
  return result;
}

inline void write_exponents(int32_t *result, const float *x, size_t n, int min_value) {
  for (size_t i = 0; i < n; i += 8) {
    Ints bits = load<Ints>(x + i);
    Ints field = bits >> 23 & 0xff;
    Ints exponent = larger(field - 127, Ints{} + min_value);
    exponent = field == 255 ? Ints{} + not_finite_code : exponent;
    exponent = (bits & 0x7fff'ffff) == 0 ? Ints{} + zero_code : exponent;
    store(result + i, exponent);
  }
}

// Computes the products for `vectors` vectors of accumulators of `count` strips; all sums are
// exact. 8 multiply-adds should be in flight, to hide their latency.
template <int count, int vectors>
inline void sum_products(Floats (&sum)[count][vectors], const Tile &tile, const Strip *strips,
                         unsigned column) {
  const float *b = tile.b + column;
  const float *a[count];
  for (int s = 0; s < count; s++) {
    a[s] = strips[s].a;
    for (int v = 0; v < vectors; v++)
      sum[s][v] = Floats{};
  }
  size_t width = tile.width;
  for (size_t i = 0; i < 4 * tile.k; i += 4, b += width) {
    Floats y[vectors];
    if constexpr (count > 1)
      for (int v = 0; v < vectors; v++)
        y[v] = load<Floats>(b + 8 * v);
    for (int s = 0; s < count; s++) {
      Floats x = TWICE(a[s] + i);
      for (int v = 0; v < vectors; v++)
        sum[s][v] = MULTIPLY_ADD(x, count > 1 ? y[v] : load<Floats>(b + 8 * v), sum[s][v]);
    }
  }
}

struct ExactFloats {
  template <int count, int vectors>
  static inline void add(const Tile &tile, const Strip *strips, unsigned column) {
    Floats sum[count][vectors];
    sum_products<count, vectors>(sum, tile, strips, column);
    for (int s = 0; s < count; s++)
      for (int v = 0; v < vectors; v++) {
        float *to = strips[s].accumulators + column + 8 * v;
        store(to, load<Floats>(to) + sum[s][v] + 0.0f); // + 0.0f turns -0 into +0
      }
  }
};

struct Integers {
  template <int count, int vectors>
  static inline void add(const Tile &tile, const Strip *strips, unsigned column) {
    Floats sum[count][vectors];
    sum_products<count, vectors>(sum, tile, strips, column);
    for (int s = 0; s < count; s++)
      for (int v = 0; v < vectors; v++) {
        float *to = strips[s].accumulators + column + 8 * v; // holds integers
        Unsigneds products = (Unsigneds) __builtin_convertvector(sum[s][v], Ints);
        store(to, load<Unsigneds>(to) + products); // wraps around
      }
  }
};

// 8 strips.
template <typename Kind> inline void add_exactly(const Tile &tile, const Strip *strips) {
  unsigned column = 0;
  for (; column + 64 <= tile.width; column += 64)
    for (int s = 0; s < 8; s++)
      Kind::template add<1, 8>(tile, strips + s, column);
  for (; column + 32 <= tile.width; column += 32)
    for (int s = 0; s < 8; s += 2)
      Kind::template add<2, 4>(tile, strips + s, column);
  for (; column + 16 <= tile.width; column += 16)
    for (int s = 0; s < 8; s += 4)
      Kind::template add<4, 2>(tile, strips + s, column);
  for (; column < tile.width; column += 8)
    Kind::template add<8, 1>(tile, strips, column);
}

// Whether the accumulators fit, too: multiples of the unit, at most `room` units.
inline bool fits(const Exactness &exact, const Strip *strips, unsigned width) {
  Ints good = Ints{} - 1;
  for (unsigned s = 0; s < 8; s++)
    for (unsigned i = 0; i < width; i += 8) {
      Floats accumulators = load<Floats>(strips[s].accumulators + i);
      Floats units = accumulators * exact.per_unit;
      Floats whole = __builtin_convertvector(__builtin_convertvector(units, Ints), Floats);
      Floats magnitude = (Floats)((Ints)units & 0x7fff'ffff);
      good &= (Ints)(whole * exact.unit == accumulators) & (Ints)(magnitude <= exact.room);
    }
  return !any(~good);
}

// Adds one block of `count` products to 8 * `vectors` accumulators, as accumulation.h defines it.
// `count` is a multiple of 4. `good` becomes -1, or 0 where the caller must compute the result by
// definition.
template <int vectors>
inline void add_block(Ints (&good)[vectors], const Accumulation &how, const Tile &tile,
                      const Strip &strip, unsigned column, unsigned begin, unsigned count) {
  size_t width = tile.width;
  float *accumulators = strip.accumulators + column;
  const int32_t *ea = strip.a_exponents + 4 * begin;
  const int32_t *eb = tile.b_exponents + begin * width + column;
  Ints largest[vectors];
  for (int v = 0; v < vectors; v++)
    largest[v] = Ints{} + 2 * zero_code;
  for (unsigned i = 0; i < count; i += 4)
    for (int step = 0; step < 4; step++, ea += 4, eb += width) {
      Ints x = (Ints)TWICE((const float *)ea);
      for (int v = 0; v < vectors; v++)
        largest[v] = larger(largest[v], x + load<Ints>(eb + 8 * v));
    }

  Unsigneds sum[vectors]; // holds signed values; may overflow where the result is not good
  Floats per_unit[vectors];
  int up = how.fraction_bits >= 23 ? how.fraction_bits - 23 : 0;
  int down = how.fraction_bits >= 23 ? 0 : 23 - how.fraction_bits;
  for (int v = 0; v < vectors; v++) {
    Ints bits = load<Ints>(accumulators + 8 * v);
    Ints field = bits >> 23 & 0xff;
    Ints exponent = larger(field - 127, Ints{} + -126);
    Ints all_zero = largest[v] < zero_code / 2;
    largest[v] = larger(largest[v], exponent);
    // Products below 2^-126 are inexact as floats, but matter only if all terms are small.
    good[v] = (all_zero | ((largest[v] >= -100) & (largest[v] <= 100))) & (field != 255);

    // The unit is 2^(largest - fraction_bits). per_unit is 2^(fraction_bits - largest) as a float;
    // its value does not matter if all products are zero.
    Ints power = how.fraction_bits - largest[v];
    power = larger(smaller(power, Ints{} + 127), Ints{} + -127);
    per_unit[v] = (Floats)((power + 127) << 23);

    // The accumulator in units, truncated.
    Ints significand = (bits & 0x7f'ffff) | ((field != 0) & 0x80'0000);
    Ints drop = smaller(largest[v] - exponent + down, Ints{} + 31);
    Ints term = (Ints)((Unsigneds)(significand << up) >> (Unsigneds)drop);
    Ints sign = bits >> 31;
    sum[v] = (Unsigneds)((term ^ sign) - sign);
  }

  // An int holds 8 terms below 2^(fraction_bits + 2) and the accumulator; doubles hold the total.
  Doubles4 low[vectors] = {}, high[vectors] = {};
  const float *a = strip.a + 4 * begin, *b = tile.b + begin * width + column;
  unsigned in_a_go = how.fraction_bits <= 23 ? 32 : 8;
  for (unsigned i = 0; i < count;) {
    unsigned end = i + in_a_go < count ? i + in_a_go : count;
    for (; i < end; i += 4)
      for (int step = 0; step < 4; step++, a += 4, b += width) {
        Floats x = TWICE(a);
        for (int v = 0; v < vectors; v++) {
          Floats units = x * load<Floats>(b + 8 * v) * per_unit[v];
          sum[v] += (Unsigneds) __builtin_convertvector(units, Ints);
        }
      }
    for (int v = 0; v < vectors; v++) {
      Ints whole = (Ints)sum[v];
      low[v] +=
          __builtin_convertvector(__builtin_shufflevector(whole, whole, 0, 1, 2, 3), Doubles4);
      high[v] +=
          __builtin_convertvector(__builtin_shufflevector(whole, whole, 4, 5, 6, 7), Doubles4);
      sum[v] = Unsigneds{};
    }
  }

  // Truncate to the result's mantissa; a double has 52 mantissa bits.
  int64_t mask = -(int64_t(1) << (52 - how.mantissa_bits));
  for (int v = 0; v < vectors; v++) {
    Ints unit = largest[v] + (1023 - how.fraction_bits);
    Longs4 low_unit =
        __builtin_convertvector(__builtin_shufflevector(unit, unit, 0, 1, 2, 3), Longs4);
    Longs4 high_unit =
        __builtin_convertvector(__builtin_shufflevector(unit, unit, 4, 5, 6, 7), Longs4);
    Doubles4 l = (Doubles4)((Longs4)(low[v] * (Doubles4)(low_unit << 52)) & mask);
    Doubles4 h = (Doubles4)((Longs4)(high[v] * (Doubles4)(high_unit << 52)) & mask);
    Floats4 l4 = __builtin_convertvector(l, Floats4), h4 = __builtin_convertvector(h, Floats4);
    Ints result = (Ints)(__builtin_shufflevector(l4, h4, 0, 1, 2, 3, 4, 5, 6, 7) + 0.0f);
    // Subnormal results were rounded instead of truncated.
    Ints magnitude = result & 0x7fff'ffff;
    good[v] &= (magnitude == 0) | (magnitude > 0x0080'0000);
    // Accumulators that are not good keep their values.
    float *to = accumulators + 8 * v;
    store(to, (result & good[v]) | (load<Ints>(to) & ~good[v]));
  }
}

template <int vectors>
inline void add_as_defined(const Accumulation &how, const Tile &tile, const Strip &strip,
                           unsigned column) {
  for (unsigned begin = 0; begin < tile.k; begin += unsigned(how.block)) {
    unsigned left = tile.k - begin;
    unsigned count = left < unsigned(how.block) ? left : unsigned(how.block);
    Ints good[vectors];
    add_block<vectors>(good, how, tile, strip, column, begin, count);
    for (int v = 0; v < vectors; v++) {
      if (!any(~good[v]))
        continue;
      for (unsigned i = 0; i < 8; i++) {
        unsigned at = column + 8 * unsigned(v) + i;
        float &sum = strip.accumulators[at];
        if (!good[v][i])
          sum = fused_dot(how, count, strip.a + 4 * begin + i % 4, 4, tile.min_a,
                          tile.b + begin * tile.width + at, tile.width, tile.min_b, sum);
      }
    }
  }
}

// 8 strips.
inline bool add(const Accumulation &how, const Exactness &exact, const Tile &tile,
                const Strip *strips) {
  if (exact.products && fits(exact, strips, tile.width)) {
    add_exactly<ExactFloats>(tile, strips);
    return true;
  }
  if (!tile.b_exponents)
    return false;
  for (unsigned s = 0; s < 8; s++) {
    unsigned column = 0;
    for (; column + 16 <= tile.width; column += 16)
      add_as_defined<2>(how, tile, strips[s], column);
    for (; column < tile.width; column += 8)
      add_as_defined<1>(how, tile, strips[s], column);
  }
  return true;
}

// 8 strips.
inline void add_integers(const Tile &tile, const Strip *strips) {
  add_exactly<Integers>(tile, strips);
}

inline void rows_to_a(float *a4, const float *rows, unsigned k) {
  for (unsigned g = 0; g < 8; g++, rows += k)
    for (unsigned i = 0; i < k; i += 4, a4 += 16) {
      Floats4 x = load<Floats4>(rows + i), y = load<Floats4>(rows + 8 * k + i);
      store(a4, __builtin_shufflevector(x, y, 0, 0, 4, 4));
      store(a4 + 4, __builtin_shufflevector(x, y, 1, 1, 5, 5));
      store(a4 + 8, __builtin_shufflevector(x, y, 2, 2, 6, 6));
      store(a4 + 12, __builtin_shufflevector(x, y, 3, 3, 7, 7));
    }
}

// Writes columns n and n + 1 to Tile::b; `stride` is the distance from one k to the next.
inline void column_pair(float *b, size_t stride, const float *column, unsigned k) {
  for (unsigned i = 0; i < k; i += 4, b += 4 * stride) {
    Floats4 x = load<Floats4>(column + i), y = load<Floats4>(column + k + i);
    store(b, __builtin_shufflevector(x, y, 0, 4, 0, 4));
    store(b + stride, __builtin_shufflevector(x, y, 1, 5, 1, 5));
    store(b + 2 * stride, __builtin_shufflevector(x, y, 2, 6, 2, 6));
    store(b + 3 * stride, __builtin_shufflevector(x, y, 3, 7, 3, 7));
  }
}

// Strip t starts `apart` after strip t - 1.
inline void columns_to_b(float *b, size_t apart, size_t stride, const float *columns, unsigned k) {
  for (unsigned t = 0; t < 4; t++)
    column_pair(b + t * apart, stride, columns + 2 * t * k, k);
}

inline void rows_to_b(float *b, size_t apart, size_t stride, const float *rows, size_t row,
                      unsigned k) {
  for (unsigned i = 0; i < k; i++, b += stride, rows += row) {
    Floats x = load<Floats>(rows);
    store(b, __builtin_shufflevector(x, x, 0, 1, 0, 1));
    store(b + apart, __builtin_shufflevector(x, x, 2, 3, 2, 3));
    store(b + 2 * apart, __builtin_shufflevector(x, x, 4, 5, 4, 5));
    store(b + 3 * apart, __builtin_shufflevector(x, x, 6, 7, 6, 7));
  }
}

// Transposes four rows of four words.
inline void transpose(Ints4 (&x)[4]) {
  Ints4 a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
  Ints4 b = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
  Ints4 c = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
  Ints4 d = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
  x[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  x[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  x[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  x[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

// Register r of A is word t + 4 (r / 2) of row g + 8 (r % 2); see fragments.h.
inline void words_of_a(uint32_t *rows, const uint32_t *const *registers, unsigned words) {
  if (words == 8)
    for (unsigned g = 0; g < 8; g++) {
      Ints4 x[4];
      for (unsigned t = 0; t < 4; t++)
        x[t] = load<Ints4>(registers[4 * g + t]);
      transpose(x);
      store(rows + 8 * g, x[0]);
      store(rows + 8 * g + 64, x[1]);
      store(rows + 8 * g + 4, x[2]);
      store(rows + 8 * g + 68, x[3]);
    }
  else
    for (unsigned lane = 0; lane < 32; lane++) {
      rows[lane] = registers[lane][0];
      rows[lane + 32] = registers[lane][1];
    }
}

// Register r of B is word t + 4r of column g.
inline void words_of_b(uint32_t *columns, const uint32_t *const *registers, unsigned words) {
  if (words == 8)
    for (unsigned g = 0; g < 8; g++, registers += 4, columns += 8) {
      Ints4 x{int32_t(registers[0][0]), int32_t(registers[1][0]), int32_t(registers[2][0]),
              int32_t(registers[3][0])};
      Ints4 y{int32_t(registers[0][1]), int32_t(registers[1][1]), int32_t(registers[2][1]),
              int32_t(registers[3][1])};
      store(columns, x);
      store(columns + 4, y);
    }
  else
    for (unsigned lane = 0; lane < 32; lane++)
      columns[lane] = registers[lane][0];
}

inline void widen_all(Input input, float *result, const uint8_t *from, size_t n) {
  switch (input) {
  case Input::f16:
    for (size_t i = 0; i < n; i += 8)
      store(result + i, WIDEN_HALVES(load<Shorts>(from + 2 * i)));
    break;
  case Input::bf16:
    for (size_t i = 0; i < n; i += 8) {
      Unsigneds bits = __builtin_convertvector(load<Shorts>(from + 2 * i), Unsigneds);
      store(result + i, (Floats)(bits << 16));
    }
    break;
  case Input::tf32:
    for (size_t i = 0; i < n; i += 8)
      store(result + i, load<Unsigneds>(from + 4 * i) & ~0x1fffu);
    break;
  case Input::e4m3:
    for (size_t i = 0; i < n; i += 8) {
      Unsigneds bits = __builtin_convertvector(load<Bytes>(from + i), Unsigneds);
      Unsigneds magnitude = bits & 0x7fu;
      Floats value = (Floats)(magnitude << 20) * 0x1p120f;
      Unsigneds not_a_number = (Unsigneds)(magnitude == 0x7fu) & 0x7fff'ffffu;
      store(result + i, (Unsigneds)value | (bits & 0x80u) << 24 | not_a_number);
    }
    break;
  case Input::e5m2: // the upper byte of an f16
    for (size_t i = 0; i < n; i += 8)
      store(result + i, WIDEN_HALVES(__builtin_convertvector(load<Bytes>(from + i), Shorts) << 8));
    break;
  case Input::s8:
    for (size_t i = 0; i < n; i += 8) {
      Ints whole = __builtin_convertvector(load<SignedBytes>(from + i), Ints);
      store(result + i, __builtin_convertvector(whole, Floats));
    }
    break;
  case Input::u8:
    for (size_t i = 0; i < n; i += 8) {
      Ints whole = __builtin_convertvector(load<Bytes>(from + i), Ints);
      store(result + i, __builtin_convertvector(whole, Floats));
    }
    break;
  }
}
