// Tests dot products of tensor cores: the definition against a reference in double, and the fast
// code for tiles against the definition.

#include "models_random.h"

#include "models/accumulation.h"
#include "models/mma_tile.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace tritonc::emulator::models;

namespace {

// A value as significand * 2^exponent. The significand is in [1, 2), or smaller with the min
// exponent. Zero has an exponent below all others.
struct Parts {
  double significand;
  int exponent;
};

Parts parts(double value, int least) {
  if (value == 0)
    return {0, -999};
  int exponent;
  double significand = std::frexp(value, &exponent) * 2;
  exponent--;
  if (exponent < least) {
    significand = std::ldexp(significand, exponent - least);
    exponent = least;
  }
  return {significand, exponent};
}

// One block, as the papers define it.
float by_the_book(const Accumulation &how, std::vector<float> a, std::vector<float> b, int min_a,
                  int min_b, float c) {
  double plain = c;
  bool finite = std::isfinite(c);
  for (size_t i = 0; i < a.size(); i++) {
    plain += double(a[i]) * double(b[i]);
    finite = finite && std::isfinite(a[i]) && std::isfinite(b[i]);
  }
  if (!finite)
    return std::isnan(plain) ? std::bit_cast<float>(0x7fff'ffffu) : float(plain);

  std::vector<Parts> terms = {parts(c, -126)};
  for (size_t i = 0; i < a.size(); i++) {
    Parts x = parts(a[i], min_a), y = parts(b[i], min_b);
    terms.push_back({x.significand * y.significand, x.exponent + y.exponent});
  }
  int largest = -133;
  for (Parts term : terms)
    if (term.significand != 0)
      largest = std::max(largest, term.exponent);
  double sum = 0;
  for (Parts term : terms)
    sum += std::trunc(std::ldexp(term.significand, how.fraction_bits + term.exponent - largest));
  sum = std::ldexp(sum, -how.fraction_bits + largest);
  Parts result = parts(sum, -126);
  double cut = std::trunc(std::ldexp(result.significand, how.mantissa_bits));
  return float(std::ldexp(cut, result.exponent - how.mantissa_bits)) + 0.0f;
}

// All blocks. Unpacked: as f16, first k % 4 == 0 or 1, then 2 or 3; c is added last.
float by_the_book(const Accumulation &how, Input type_a, Input type_b, const std::vector<float> &a,
                  const std::vector<float> &b, float c) {
  int min_a = min_exponent(type_a), min_b = min_exponent(type_b);
  float sum = c;
  if (how.unpacked) {
    sum = 0;
    min_a = min_b = -14;
  }
  for (size_t begin = 0; begin < a.size(); begin += size_t(how.block)) {
    std::vector<float> x, y;
    for (size_t i = 0; i < a.size(); i++)
      if (how.unpacked ? (i % 4 >= 2) == (begin != 0)
                       : i >= begin && i < begin + size_t(how.block)) {
        x.push_back(a[i]);
        y.push_back(b[i]);
      }
    sum = by_the_book(how, x, y, min_a, min_b, sum);
  }
  if (!how.unpacked)
    return sum;
  sum += c;
  return std::isnan(sum) ? std::bit_cast<float>(0x7fff'ffffu) : sum;
}

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

struct Case {
  Input a, b;
  unsigned k;
};
constexpr Case cases[] = {
    {Input::f16, Input::f16, 8},    {Input::f16, Input::f16, 16},   {Input::bf16, Input::bf16, 8},
    {Input::bf16, Input::bf16, 16}, {Input::tf32, Input::tf32, 4},  {Input::tf32, Input::tf32, 8},
    {Input::e4m3, Input::e4m3, 32}, {Input::e5m2, Input::e5m2, 32}, {Input::e4m3, Input::e5m2, 32},
};

struct Gpu {
  unsigned sm;
  Instruction instruction;
};
constexpr Gpu gpus[] = {{75, Instruction::mma}, {80, Instruction::mma},   {89, Instruction::mma},
                        {90, Instruction::mma}, {90, Instruction::wgmma}, {100, Instruction::mma},
                        {120, Instruction::mma}};

} // namespace

TEST_CASE("fused_dot: matches the papers' definition") {
  Random random(1);
  int wrong = 0;
  for (Gpu gpu : gpus)
    for (Case c : cases)
      for (Kind kind : all_kinds)
        for (int repetition = 0; repetition < 300; repetition++) {
          Accumulation how = accumulation(gpu.sm, gpu.instruction, c.a);
          std::vector<float> a(c.k), b(c.k);
          for (float &x : a)
            x = value_of(c.a, random.element(c.a, kind));
          for (float &x : b)
            x = value_of(c.b, random.element(c.b, kind));
          float sum = random.accumulator(kind), expected = by_the_book(how, c.a, c.b, a, b, sum);
          int min_a = min_exponent(c.a), min_b = min_exponent(c.b);
          float result = fused_dot(how, c.k, a.data(), 1, min_a, b.data(), 1, min_b, sum);
          wrong += bits(result) != bits(expected);
        }
  CHECK(wrong == 0);
}

TEST_CASE("fused_dot: known results") {
  Accumulation hopper = accumulation(90, Instruction::wgmma, Input::f16);
  CHECK(hopper.fraction_bits == 25);
  CHECK(hopper.block == 16);
  auto dot = [](const Accumulation &how, std::vector<float> a, std::vector<float> b, float c) {
    return fused_dot(how, unsigned(a.size()), a.data(), 1, -14, b.data(), 1, -14, c);
  };
  // Bits more than 25 below the largest term are lost, even if many terms have them.
  float small = 0x1p-13f;
  CHECK(dot(hopper, {1, small, small, small, small}, {1, small, small, small, small}, 0) == 1);
  CHECK(dot(hopper, {1, small, small, small, small}, {1, 0x1p-12f, 0x1p-12f, 0x1p-12f, 0x1p-12f},
            0) == 1 + 0x1p-23f);
  // The result is truncated, not rounded: 1 + 2^-24 + 2^-25.
  CHECK(dot(hopper, {1, 0x1p-12f, 0x1p-12f, 0}, {1, 0x1p-12f, 0x1p-13f, 0}, 0) == 1);
  CHECK(dot(hopper, {-1, -0x1p-12f, -0x1p-12f, 0}, {1, 0x1p-12f, 0x1p-13f, 0}, 0) == -1);
  // Large terms that cancel make small terms vanish.
  CHECK(dot(hopper, {0x1p15f, -0x1p15f, 1, 0}, {0x1p15f, 0x1p15f, 1, 0}, 0) == 0);

  // fp8 on Hopper: integers are exact only below 2^13.
  Accumulation fp8 = accumulation(90, Instruction::wgmma, Input::e4m3);
  CHECK(dot(fp8, {128, 1, 0, 0}, {63, 1, 0, 0}, 0) == 8065);
  CHECK(dot(fp8, {128, 1, 0, 0}, {128, 1, 0, 0}, 0) == 16384);
  CHECK(fp8.exact_bits() == 13);

  // Infinities and NaN.
  CHECK(dot(hopper, {INFINITY, 1, 0, 0}, {1, 1, 0, 0}, 0) == INFINITY);
  CHECK(bits(dot(hopper, {INFINITY, -INFINITY, 0, 0}, {1, 1, 0, 0}, 0)) == 0x7fff'ffff);
  CHECK(bits(dot(hopper, {INFINITY, 1, 0, 0}, {0, 1, 0, 0}, 0)) == 0x7fff'ffff);
  CHECK(bits(dot(hopper, {1, 1, 0, 0}, {0, 1, 0, 0}, -NAN)) == 0x7fff'ffff);
  CHECK(bits(dot(hopper, {-1, 1, 0, 0}, {0, 0, 0, 0}, -0.0f)) == 0);
  CHECK(fused_dot(hopper, 1, std::vector{0x1p127f}.data(), 1, -126, std::vector{2.0f}.data(), 1,
                  -126, 0) == INFINITY);
}

TEST_CASE("fused_dot: fp8 mma.sync matches an H200") {
  struct {
    Input type_a, type_b;
    uint32_t c, sum;
    const char *a, *b; // bytes
  } cases[] = {
      {Input::e4m3, Input::e4m3, 0xbdeaab78, 0x3c8f5220,
       "101d21362e31b235b5312537b2b338252c1933adb2b731242ca111312f881b2f",
       "2e3337b49e252baf37371bb231b333b78c9e2eb22faf2bb33729b38e37aca6ab"},
      {Input::e4m3, Input::e4m3, 0x94f51bd5, 0x47d1b069,
       "00f34ef2f770a6d29e6e04af2af33527c9c82d48d0e647990026cbc5ab0e5199",
       "e89984fa03f29ad9c307b6e677fe151673515dfc1d062667250410b903ccd860"},
      {Input::e4m3, Input::e4m3, 0xd343183d, 0xd3431838,
       "ec6bb75ffeeb270b35fd7e4e82fe7bdc807b7a708100115f522cdcb2b9fe965f",
       "a71cfef1d8d3288080567ef8668962eae775486d8022a4e2feddfe8098b6e500"},
      {Input::e5m2, Input::e5m2, 0xbdeaab78, 0xbe1dd5bc,
       "282f313b3738b93abb38333cb9ba3c33362c39b7b9bc393236b0293938a42d37",
       "373a3cbaaf3335b83b3b2db939b939bca6af37b937b735b93c35baa73bb6b3b6"},
      {Input::e5m2, Input::e5m2, 0x54fbbf1b, 0x54fbbf2d,
       "00f34ef2f770a6d29e6e04af2af33527c9c82d48d0e647990026cbc5ab0e5199",
       "20e2031616db3658d6c1239fed0159b8ba2c56bbe80e00585d1d0009f8e4c25a"},
      {Input::e5m2, Input::e5m2, 0x00000000, 0x4d1a758f,
       "495bc61c367b73b3948045640080e260ad4621949d57fbef1da1dbc469e9fbbc",
       "e92c933680b612c6543c3f7b587b8900b87b8080de89e707ec00a1005437b6dd"},
      {Input::e4m3, Input::e5m2, 0xbdeaab78, 0xbe19f5bc,
       "101d21362e31b235b5312537b2b338252c1933adb2b731242ca111312f881b2f",
       "373a3cbaaf3335b83b3b2db939b939bca6af37b937b735b93c35baa73bb6b3b6"},
      {Input::e4m3, Input::e5m2, 0x22eaf0fc, 0x48b6ae20,
       "726f42ebb783e080d9e3822bc56cd9e0494f87041c9b7e4768a7078c5ffd8d96",
       "e5d250e8a64675496f00053e72ca4f18ab1aaf111cb091c1b45dbe5979c4d287"},
      {Input::e4m3, Input::e5m2, 0xa432eabd, 0xca239c8c,
       "867786eb2b640ece0c59d924f2082675005080811378004e80ae1b389227cdb8",
       "b6e64e732fc2224beffb53ae628bb75f26850053ce53d7cd47daf30bdd034e2d"},
      {Input::e5m2, Input::e4m3, 0xbdeaab78, 0x3c56a440,
       "282f313b3738b93abb38333cb9ba3c33362c39b7b9bc393236b0293938a42d37",
       "2e3337b49e252baf37371bb231b333b78c9e2eb22faf2bb33729b38e37aca6ab"},
      {Input::e5m2, Input::e4m3, 0x54fbbf1b, 0x54fbbf1c,
       "00f34ef2f770a6d29e6e04af2af33527c9c82d48d0e647990026cbc5ab0e5199",
       "20e2031616db3658d6c1239fed0159b8ba2c56bbe80efd585d1d0009f8e4c25a"},
      {Input::e5m2, Input::e4m3, 0x034a60f8, 0x46d64a9a,
       "495bc61c367b73b3948045640080e260ad4621949d57fbef1da1dbc469e9fbbc",
       "42b424bc8f20df812e81d0670033ea808f285b79b4801d3e882780bcd22ecd52"},
  };
  auto numbers = [](Input type, const char *text) {
    std::vector<float> result;
    for (; *text; text += 2)
      result.push_back(value_of(type, uint32_t(std::stoul(std::string(text, 2), nullptr, 16))));
    return result;
  };
  for (const auto &one : cases) {
    std::vector<float> a = numbers(one.type_a, one.a), b = numbers(one.type_b, one.b);
    auto dot = [&](const Accumulation &how) {
      return bits(fused_dot(how, 32, a.data(), 1, min_exponent(one.type_a), b.data(), 1,
                            min_exponent(one.type_b), std::bit_cast<float>(one.c)));
    };
    CHECK(dot(accumulation(90, Instruction::mma, one.type_a)) == one.sum);
    CHECK(dot(accumulation(103, Instruction::mma, one.type_a)) == one.sum);
    // With k in order and C in the first block, the last bits differ.
    CHECK(dot(Accumulation{25, 16, 23}) != one.sum);
  }
  CHECK(accumulation(90, Instruction::mma, Input::e4m3).unpacked);
  CHECK(!accumulation(90, Instruction::wgmma, Input::e4m3).unpacked);
  CHECK(!accumulation(90, Instruction::mma, Input::f16).unpacked);
  CHECK(!accumulation(89, Instruction::mma, Input::e4m3).unpacked);
  CHECK(!accumulation(120, Instruction::mma, Input::e4m3).unpacked);
}

TEST_CASE("fused_dot: terms below 2^-158 are ignored") {
  Accumulation how = accumulation(90, Instruction::wgmma, Input::tf32);
  auto dot = [&](float a, float b) {
    float x[] = {0x1p-75f, a}, y[] = {0x1p-74f, b};
    return fused_dot(how, 2, x, 1, -126, y, 1, -126, 0);
  };
  CHECK(dot(0, 0) == 0x1p-149f);
  CHECK(dot(-0x1p-80f, 0x1p-79f) == 0x1p-149f);
  CHECK(dot(-0x1p-80f, 0x1p-78f) == 0);
}

TEST_CASE("fused_dot: underflow gives +0, as on an H200") {
  Accumulation how = accumulation(90, Instruction::mma, Input::tf32);
  float a[] = {0x1.be4p-83f, 0x1.9ep-9f, 0x1.d44p-77f, 0x1.9b4p+105f};
  float b[] = {-0x1.edp-69f, -0.0f, -0x1.60cp-100f, -0.0f};
  CHECK(bits(fused_dot(how, 4, a, 1, -126, b, 1, -126, -0.0f)) == 0);
  // Just large enough.
  b[0] = -0x1p-66f;
  CHECK(bits(fused_dot(how, 4, a, 1, -126, b, 1, -126, -0.0f)) == 0x8000'0001);
}

namespace {

// Computes a tile of 8 strips of random values, by the tile code and by definition.
int wrong_results(const Accumulation &how, Case c, unsigned width, Kind kind, Random &random,
                  bool with_exactness) {
  unsigned k = c.k;
  std::vector<float> a(16 * k), b(width / 2 * k);
  for (float &x : a)
    x = value_of(c.a, random.element(c.a, kind));
  for (float &x : b)
    x = value_of(c.b, random.element(c.b, kind));
  alignas(32) float strips_a[8 * 4 * 32], strips_b[32 * 128];
  alignas(32) int32_t exponents_a[8 * 4 * 32], exponents_b[32 * 128];
  alignas(32) float sums[8][128], expected[8][128];
  for (unsigned i = 0; i < k; i++) {
    for (unsigned row = 0; row < 16; row++)
      for (unsigned twice = 0; twice < 2; twice++)
        strips_a[row % 8 * 4 * k + 4 * i + row / 8 * 2 + twice] = a[row * k + i];
    for (unsigned place = 0; place < width; place++)
      strips_b[i * width + place] = b[(place / 4 * 2 + place % 2) * k + i];
  }
  Tile tile;
  tile.k = k;
  tile.width = width;
  tile.b = strips_b;
  tile.min_a = min_exponent(c.a);
  tile.min_b = min_exponent(c.b);
  exponents(exponents_a, strips_a, 8 * 4 * k, tile.min_a);
  exponents(exponents_b, strips_b, width * k, tile.min_b);
  Strip strips[8];
  for (unsigned g = 0; g < 8; g++) {
    strips[g] = {strips_a + g * 4 * k, exponents_a + g * 4 * k, sums[g]};
    for (unsigned i = 0; i < width; i++) {
      sums[g][i] = random.accumulator(kind);
      unsigned row = g + i / 2 % 2 * 8, column = i / 4 * 2 + i % 2;
      expected[g][i] =
          fused_dot(how, k, &a[row * k], 1, tile.min_a, &b[column * k], 1, tile.min_b, sums[g][i]);
    }
  }
  Exactness exact;
  if (with_exactness)
    exact = Exactness(how, k, extent(strips_a, 8 * 4 * k), extent(strips_b, width * k));
  if (with_exactness && kind == Kind::integers && how.exact_bits() == 24) {
    // These values never need the slow code.
    CHECK(multiply_add(how, exact, tile, strips));
  } else {
    tile.b_exponents = exponents_b;
    CHECK(multiply_add(how, exact, tile, strips));
  }
  int wrong = 0;
  for (unsigned g = 0; g < 8; g++)
    for (unsigned i = 0; i < width; i++)
      wrong += bits(sums[g][i]) != bits(expected[g][i]);
  return wrong;
}

} // namespace

TEST_CASE("multiply_add: matches the definition") {
  for (bool portable : {false, true}) {
    use_portable_code(portable);
    Random random(2);
    int wrong = 0;
    for (Gpu gpu : gpus)
      for (Case c : cases)
        for (Kind kind : all_kinds)
          for (unsigned width : {8, 16, 24, 104, 128})
            for (bool with_exactness : {false, true}) {
              Accumulation how = accumulation(gpu.sm, gpu.instruction, c.a);
              how.unpacked = false; // mma handles unpacking
              wrong += wrong_results(how, c, width, kind, random, with_exactness);
            }
    CHECK(wrong == 0);
  }
  use_portable_code(false);
}

TEST_CASE("multiply_add: extreme exponents, barely exact sums") {
  Accumulation how = accumulation(90, Instruction::mma, Input::bf16);
  alignas(32) float a[8 * 4 * 4], b[4 * 8], sums[8][8];
  alignas(32) int32_t exponents_a[8 * 4 * 4], exponents_b[4 * 8];
  Strip strips[8];
  for (int g = 0; g < 8; g++)
    strips[g] = {a + 16 * g, exponents_a + 16 * g, sums[g]};
  Tile tile;
  tile.k = 4;
  tile.width = 8;
  tile.b = b;
  Random random(3);
  int wrong = 0, fast = 0;
  for (int repetition = 0; repetition < 4000; repetition++) {
    // Exponents near a random center. In half of the cases, sums are exact or almost exact.
    bool near = random.below(2);
    int at_a = int(random.below(260)) - 130, at_b = int(random.below(260)) - 130;
    int at_c = near ? at_a + at_b - int(random.below(2)) : int(random.below(260)) - 130;
    unsigned spread = 1 + random.below(near ? 6 : 30);
    auto number = [&](int at) {
      int significand = int(random.below(17)) - 8;
      return float(std::ldexp(significand, at + int(random.below(spread))));
    };
    for (float &x : a)
      x = from_bfloat16(to_bfloat16(number(at_a)));
    for (float &x : b)
      x = from_bfloat16(to_bfloat16(number(at_b)));
    float expected[8][8];
    for (int g = 0; g < 8; g++)
      for (int i = 0; i < 8; i++) {
        sums[g][i] = number(at_c);
        expected[g][i] = fused_dot(how, 4, a + 16 * g + i % 4, 4, -126, b + i, 8, -126, sums[g][i]);
      }
    Exactness exact(how, 4, extent(a, 8 * 4 * 4), extent(b, 4 * 8));
    tile.b_exponents = nullptr;
    bool done = multiply_add(how, exact, tile, strips);
    fast += done;
    if (!done) {
      exponents(exponents_a, a, 8 * 4 * 4, -126);
      exponents(exponents_b, b, 4 * 8, -126);
      tile.b_exponents = exponents_b;
      CHECK(multiply_add(how, exact, tile, strips));
    }
    for (int g = 0; g < 8; g++)
      for (int i = 0; i < 8; i++)
        wrong += bits(sums[g][i]) != bits(expected[g][i]);
  }
  CHECK(wrong == 0);
  CHECK(fast > 0);
}

TEST_CASE("widen: exact") {
  for (bool portable : {false, true}) {
    use_portable_code(portable);
    int wrong = 0;
    for (Input input : {Input::f16, Input::bf16, Input::e4m3, Input::e5m2, Input::s8, Input::u8}) {
      unsigned bytes = bytes_of(input);
      uint32_t count = bytes == 2 ? 65536 : 256;
      std::vector<uint8_t> memory(count * bytes);
      std::vector<float> result(count);
      for (uint32_t i = 0; i < count; i++)
        std::memcpy(&memory[i * bytes], &i, bytes);
      widen(input, result.data(), memory.data(), count);
      for (uint32_t i = 0; i < count; i++) {
        float value = value_of(input, i);
        wrong += std::isnan(value) ? !std::isnan(result[i]) : bits(result[i]) != bits(value);
      }
    }
    CHECK(wrong == 0);
  }
  use_portable_code(false);
}

TEST_CASE("extent: unit and highest magnitude") {
  alignas(32) float x[8] = {};
  CHECK(extent(x, 8).highest == 0);
  x[1] = -6;
  x[2] = 0.75f;
  Extent found = extent(x, 8);
  CHECK(found.unit == 0.25f);
  CHECK(found.highest == 6);
  x[7] = 0x1p-120f;
  CHECK(extent(x, 8).unit == 0x1p-120f);
  x[3] = 0x1p-140f;
  CHECK(extent(x, 8).unit == 0);
  x[3] = NAN;
  CHECK(!(extent(x, 8).highest <= INFINITY));
}
