// Tests mma.sync: fragments against the PTX ISA's tables, and matmuls against loops in double.

#include "models_random.h"

#include "models/fragments.h"
#include "models/mma.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <type_traits>
#include <vector>

using namespace tritonc::emulator::models;

namespace {

// The position of element i of a thread's fragment, copied shape by shape from "Matrix Fragments
// for mma...": groupID = lane / 4, threadID_in_group = lane % 4.
Place table_a(MmaShape shape, unsigned bits, unsigned lane, unsigned i) {
  unsigned g = lane / 4, t = lane % 4;
  if (bits == 16 && shape.k == 8)
    return {i < 2 ? g : g + 8, t * 2 + (i & 1)};
  if (bits == 16 && shape.k == 16)
    return {i < 2 || (4 <= i && i < 6) ? g : g + 8, i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8};
  if (bits == 32 && shape.k == 4)
    return {i == 0 ? g : g + 8, t};
  if (bits == 32 && shape.k == 8)
    return {i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
  if (bits == 8 && shape.m == 8)
    return {g, t * 4 + i};
  if (bits == 8 && shape.k == 16)
    return {i < 4 ? g : g + 8, t * 4 + (i & 3)};
  if (bits == 8 && shape.k == 32)
    return {i < 4 || (8 <= i && i < 12) ? g : g + 8,
            i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16};
  if (bits == 64 && shape.m == 8)
    return {g, t};
  if (bits == 64 && shape.k == 4)
    return {i == 0 ? g : g + 8, t};
  if (bits == 64 && shape.k == 8)
    return {i == 0 || i == 2 ? g : g + 8, i == 0 || i == 1 ? t : t + 4};
  return {i % 2 == 0 ? g : g + 8, i % 2 == 0 ? i * 2 + t : i * 2 - 2 + t}; // m16n8k16, f64
}

Place table_b(MmaShape shape, unsigned bits, unsigned lane, unsigned i) {
  unsigned g = lane / 4, t = lane % 4;
  if (bits == 16 && shape.k == 8)
    return {t * 2 + i, g};
  if (bits == 16)
    return {i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8, g};
  if (bits == 32)
    return {i == 0 ? t : t + 4, g};
  if (bits == 8 && shape.k == 16)
    return {t * 4 + i, g};
  if (bits == 8)
    return {i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16, g};
  return {t + i * 4, g}; // f64
}

Place table_c(MmaShape shape, unsigned lane, unsigned i) {
  unsigned g = lane / 4, t = lane % 4;
  if (shape.m == 8)
    return {g, t * 2 + (i & 1)};
  return {i < 2 ? g : g + 8, t * 2 + (i & 1)};
}

struct Form {
  MmaShape shape;
  unsigned bits;
};
constexpr Form forms[] = {
    {{16, 8, 8}, 16}, {{16, 8, 16}, 16}, {{16, 8, 4}, 32},  {{16, 8, 8}, 32},
    {{8, 8, 16}, 8},  {{16, 8, 16}, 8},  {{16, 8, 32}, 8},  {{8, 8, 4}, 64},
    {{16, 8, 4}, 64}, {{16, 8, 8}, 64},  {{16, 8, 16}, 64},
};

unsigned elements_a(Form form) { return form.shape.m * form.shape.k / 32; }
unsigned elements_b(Form form) { return form.shape.k * 8 / 32; }
unsigned elements_c(Form form) { return form.shape.m * 8 / 32; }

} // namespace

TEST_CASE("mma fragments: match the PTX ISA's tables") {
  for (Form form : forms) {
    unsigned per_register = form.bits >= 32 ? 1 : 32 / form.bits;
    CAPTURE(form.shape.m);
    CAPTURE(form.shape.k);
    CAPTURE(form.bits);
    std::vector<int> seen_a(form.shape.m * form.shape.k), seen_b(form.shape.k * 8),
        seen_c(form.shape.m * 8);
    bool right = true;
    for (unsigned lane = 0; lane < 32; lane++) {
      for (unsigned i = 0; i < elements_a(form); i++) {
        Place place = table_a(form.shape, form.bits, lane, i);
        seen_a[place.row * form.shape.k + place.column]++;
        right &= place ==
                 place_in_a(form.shape.m, per_register, lane, i / per_register, i % per_register);
      }
      for (unsigned i = 0; i < elements_b(form); i++) {
        Place place = table_b(form.shape, form.bits, lane, i);
        seen_b[place.row * 8 + place.column]++;
        right &= place == place_in_b(per_register, lane, i / per_register, i % per_register);
      }
      for (unsigned i = 0; i < elements_c(form); i++) {
        Place place = table_c(form.shape, lane, i);
        seen_c[place.row * 8 + place.column]++;
        right &= place == place_in_d(lane, i);
      }
    }
    CHECK(right);
    // Exactly one thread holds each element.
    CHECK(seen_a == std::vector<int>(seen_a.size(), 1));
    CHECK(seen_b == std::vector<int>(seen_b.size(), 1));
    CHECK(seen_c == std::vector<int>(seen_c.size(), 1));
  }
}

TEST_CASE("place_in_8x8: each element is held once") {
  for (bool transposed : {false, true}) {
    int seen[8][8] = {};
    for (unsigned lane = 0; lane < 32; lane++)
      for (unsigned half = 0; half < 2; half++) {
        Place place = place_in_8x8(transposed, lane, half);
        seen[place.row][place.column]++;
      }
    for (auto &row : seen)
      for (int count : row)
        CHECK(count == 1);
  }
  CHECK(place_in_8x8(false, 5, 1) == Place{1, 3});
  CHECK(place_in_8x8(true, 5, 1) == Place{3, 1});
}

namespace {

// Operands and results of a warp, placed in registers by the tables.
template <typename Result> struct Warp {
  uint32_t a[32][4] = {}, b[32][2] = {};
  Result c[32][4] = {}, d[32][4] = {};
  WarpRegisters<uint32_t, Result> registers;

  Warp() {
    for (unsigned lane = 0; lane < 32; lane++) {
      registers.a[lane] = a[lane];
      registers.b[lane] = b[lane];
      registers.c[lane] = c[lane];
      registers.d[lane] = d[lane];
    }
  }
};

void put(uint32_t *registers, unsigned bits, unsigned i, uint32_t element) {
  unsigned per_register = 32 / bits;
  registers[i / per_register] |= element << (i % per_register * bits);
}

struct FloatCase {
  Input a, b;
  unsigned k;
};
constexpr FloatCase float_cases[] = {
    {Input::f16, Input::f16, 8},    {Input::f16, Input::f16, 16},   {Input::bf16, Input::bf16, 8},
    {Input::bf16, Input::bf16, 16}, {Input::tf32, Input::tf32, 4},  {Input::tf32, Input::tf32, 8},
    {Input::e4m3, Input::e4m3, 32}, {Input::e5m2, Input::e5m2, 32}, {Input::e4m3, Input::e5m2, 32},
    {Input::e5m2, Input::e4m3, 32},
};

} // namespace

TEST_CASE("mma: floating-point types match fused_dot") {
  Random random(5);
  for (FloatCase c : float_cases)
    for (unsigned sm : {75, 80, 89, 90, 120})
      for (Kind kind : all_kinds)
        for (bool in_place : {false, true}) {
          Accumulation how = accumulation(sm, Instruction::mma, c.a);
          MmaShape shape{16, 8, c.k};
          Form form{shape, 8 * bytes_of(c.a)};
          std::vector<float> a(16 * c.k), b(c.k * 8);
          float sums[16][8];
          Warp<float> warp;
          for (unsigned lane = 0; lane < 32; lane++) {
            for (unsigned i = 0; i < elements_a(form); i++) {
              uint32_t element = random.element(c.a, kind);
              Place place = table_a(shape, form.bits, lane, i);
              a[place.row * c.k + place.column] = value_of(c.a, element);
              put(warp.a[lane], form.bits, i, element);
            }
            for (unsigned i = 0; i < elements_b(form); i++) {
              uint32_t element = random.element(c.b, kind);
              Place place = table_b(shape, form.bits, lane, i);
              b[place.row * 8 + place.column] = value_of(c.b, element);
              put(warp.b[lane], form.bits, i, element);
            }
            for (unsigned i = 0; i < 4; i++) {
              Place place = table_c(shape, lane, i);
              sums[place.row][place.column] = warp.c[lane][i] = random.accumulator(kind);
            }
            if (in_place)
              warp.registers.d[lane] = warp.c[lane];
          }
          mma(c.k, c.a, c.b, how, warp.registers);
          int wrong = 0;
          for (unsigned lane = 0; lane < 32; lane++)
            for (unsigned i = 0; i < 4; i++) {
              Place place = table_c(shape, lane, i);
              float expected =
                  fused_dot(how, c.k, &a[place.row * c.k], 1, min_exponent(c.a), &b[place.column],
                            8, min_exponent(c.b), sums[place.row][place.column]);
              float result = warp.registers.d[lane][i];
              wrong += std::memcmp(&result, &expected, 4) != 0;
              if (kind != Kind::integers || how.exact_bits() < 24)
                continue;
              double plain = sums[place.row][place.column];
              for (unsigned k = 0; k < c.k; k++)
                plain += double(a[place.row * c.k + k]) * double(b[k * 8 + place.column]);
              wrong += plain != result;
            }
          CHECK(wrong == 0);
        }
}

TEST_CASE("mma: integer accumulators wrap around") {
  Random random(6);
  for (MmaShape shape : {MmaShape{8, 8, 16}, MmaShape{16, 8, 16}, MmaShape{16, 8, 32}})
    for (Input input : {Input::s8, Input::u8})
      for (bool extreme : {false, true}) {
        Form form{shape, 8};
        std::vector<int> a(shape.m * shape.k), b(shape.k * 8);
        int32_t sums[16][8];
        Warp<int32_t> warp;
        auto element = [&] {
          return extreme ? (input == Input::s8 ? 0x80u : 0xffu) : random.bits() & 0xff;
        };
        for (unsigned lane = 0; lane < 32; lane++) {
          for (unsigned i = 0; i < elements_a(form); i++) {
            uint32_t bits = element();
            Place place = table_a(shape, 8, lane, i);
            a[place.row * shape.k + place.column] = int(value_of(input, bits));
            put(warp.a[lane], 8, i, bits);
          }
          for (unsigned i = 0; i < elements_b(form); i++) {
            uint32_t bits = element();
            Place place = table_b(shape, 8, lane, i);
            b[place.row * 8 + place.column] = int(value_of(input, bits));
            put(warp.b[lane], 8, i, bits);
          }
          for (unsigned i = 0; i < elements_c(form); i++) {
            Place place = table_c(shape, lane, i);
            warp.c[lane][i] = extreme ? 0x7fff'fff0 : int32_t(random.bits());
            sums[place.row][place.column] = warp.c[lane][i];
          }
          for (unsigned i = elements_c(form); i < 4; i++)
            warp.d[lane][i] = 77; // not in the fragment
        }
        mma(shape, input, input, warp.registers);
        int wrong = 0;
        for (unsigned lane = 0; lane < 32; lane++) {
          for (unsigned i = 0; i < elements_c(form); i++) {
            Place place = table_c(shape, lane, i);
            uint32_t expected = uint32_t(sums[place.row][place.column]);
            for (unsigned k = 0; k < shape.k; k++)
              expected += uint32_t(a[place.row * shape.k + k] * b[k * 8 + place.column]);
            wrong += uint32_t(warp.d[lane][i]) != expected;
          }
          for (unsigned i = elements_c(form); i < 4; i++)
            wrong += warp.d[lane][i] != 77;
        }
        CHECK(wrong == 0);
      }
}

TEST_CASE("mma: f64 is a sequence of fused multiply-adds") {
  Random random(7);
  for (Form form : forms) {
    if (form.bits != 64)
      continue;
    MmaShape shape = form.shape;
    double a[16][16], b[16][8], sums[16][8];
    double ra[32][8], rb[32][4], rc[32][4], rd[32][4];
    WarpRegisters<double, double> registers;
    auto number = [&] { return double(random.uniform()) + double(random.uniform()) * 0x1p-30; };
    for (unsigned lane = 0; lane < 32; lane++) {
      for (unsigned i = 0; i < elements_a(form); i++) {
        Place place = table_a(shape, 64, lane, i);
        a[place.row][place.column] = ra[lane][i] = number();
      }
      for (unsigned i = 0; i < elements_b(form); i++) {
        Place place = table_b(shape, 64, lane, i);
        b[place.row][place.column] = rb[lane][i] = number();
      }
      for (unsigned i = 0; i < elements_c(form); i++) {
        Place place = table_c(shape, lane, i);
        sums[place.row][place.column] = rc[lane][i] = number();
      }
      registers.a[lane] = ra[lane];
      registers.b[lane] = rb[lane];
      registers.c[lane] = rc[lane];
      registers.d[lane] = rd[lane];
    }
    mma(shape, registers);
    int wrong = 0;
    for (unsigned lane = 0; lane < 32; lane++)
      for (unsigned i = 0; i < elements_c(form); i++) {
        Place place = table_c(shape, lane, i);
        double expected = sums[place.row][place.column];
        for (unsigned k = 0; k < shape.k; k++)
          expected = std::fma(a[place.row][k], b[k][place.column], expected);
        wrong += rd[lane][i] != expected;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("mma: f64 NaN propagation matches an H200") {
  auto bits = [](double x) { return std::bit_cast<uint64_t>(x); };
  auto number = [](uint64_t x) { return std::bit_cast<double>(x); };
  const double of_a = number(0x7ff8'0000'0000'000a), of_b = number(0xfff0'0000'0000'000b),
               of_c = number(0x7ff0'0000'0000'000c);
  struct {
    double a, b, c;
    uint64_t expected;
  } cases[] = {
      {of_a, of_b, of_c, 0xfff8'0000'0000'000b},     {of_a, of_b, 1, 0xfff8'0000'0000'000b},
      {of_a, 1, 1, 0x7ff8'0000'0000'000a},           {1, of_b, 1, 0xfff8'0000'0000'000b},
      {of_a, of_b, INFINITY, 0xfff8'0000'0000'000b}, {of_a, 1, of_c, 0x7ff8'0000'0000'000c},
      {1, 1, of_c, 0x7ff8'0000'0000'000c},           {1, 2, 3, bits(5)},
  };
  for (const auto &one : cases) {
    double a[32], b[32], c[32][2], d[32][2];
    WarpRegisters<double, double> registers;
    for (unsigned lane = 0; lane < 32; lane++) {
      // Only k = 0 is nonzero.
      a[lane] = lane % 4 == 0 ? one.a : 0;
      b[lane] = lane % 4 == 0 ? one.b : 0;
      c[lane][0] = c[lane][1] = one.c;
      registers.a[lane] = &a[lane];
      registers.b[lane] = &b[lane];
      registers.c[lane] = c[lane];
      registers.d[lane] = d[lane];
    }
    mma({8, 8, 4}, registers);
    for (unsigned lane = 0; lane < 32; lane++)
      CHECK(bits(d[lane][1]) == one.expected);
  }
}
