// Tests random numbers against a reference Philox4x32-10, and the reference against its authors'
// known answers.

#include "end_to_end/language/small_kernel.h"
#include "support/philox.h"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace tritonc::test;
using tritonc::ir::Elem;

namespace {

// The word as an element of an i32 buffer.
double as_stored(uint32_t word) { return int32_t(word); }

} // namespace

TEST_CASE("philox reference: matches the authors' known answers") {
  CHECK(philox(RandomWords{}, {0, 0}) ==
        RandomWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) ==
        RandomWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        RandomWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("philox: all four words of scalars") {
  SmallKernel kernel(R"(
    __global__ void f(uint32 *y, long seed, long offset, int small) {
      *y = philox(0, 0);
      *(y + 1) = philox(0, 0, 1);
      *(y + 2) = philox(0, 0, 2);
      *(y + 3) = philox(0, 0, 3);
      *(y + 4) = philox(seed, offset, 0);
      *(y + 5) = philox(seed, offset, 3);
      *(y + 6) = philox(small, small, 2);       // the key has the sign, the counter has not
      *(y + 7) = philox((char)small, (char)small, 2);
    })");
  const int64_t seed = 0x123456789abcdef, offset = -0x7edcba987654321;
  int y = kernel.add_unwritten(Elem::i32, 8);
  kernel.add_value(Elem::i64, double(seed / 4096 * 4096)); // exact in double
  kernel.add_value(Elem::i64, double(offset / 4096 * 4096));
  kernel.add(-5);
  RandomWords zero = philox(0, 0),
              large = philox(uint64_t(seed / 4096 * 4096), uint64_t(offset / 4096 * 4096)),
              negative = philox(uint64_t(-5), uint32_t(-5));
  kernel.must_give(y, {as_stored(zero[0]), as_stored(zero[1]), as_stored(zero[2]),
                       as_stored(zero[3]), as_stored(large[0]), as_stored(large[3]),
                       as_stored(negative[2]), as_stored(negative[2])});
}

TEST_CASE("philox: tiles of offsets and of seeds") {
  SmallKernel kernel(R"(
    __global__ void f(int *y, float *u, int seed) {
      int i[256] = get_program_id(0) * 256 + 0 ... 256;
      *(y + i) = philox(seed, i);
      *(u + i) = random_uniform(seed, i);
      int m[8] = 0 ... 8, n[16] = 0 ... 16;
      uint64 wide[16] = n;
      int both[8, 16] = philox(m[:, newaxis] * 1000, wide << 33, 1);
      if (get_program_id(0) == 0)
        *(y + 512 + m[:, newaxis] * 16 + n[newaxis, :]) = both;
    })");
  kernel.set_grid(2);
  int y = kernel.add_unwritten(Elem::i32, 640), u = kernel.add_unwritten(Elem::f32, 512);
  kernel.add(77);
  std::vector<double> words, uniforms;
  for (uint64_t i = 0; i < 512; i++) {
    words.push_back(as_stored(philox(77, i)[0]));
    uniforms.push_back(uniform(philox(77, i)[0]));
  }
  for (uint64_t m = 0; m < 8; m++)
    for (uint64_t n = 0; n < 16; n++)
      words.push_back(as_stored(philox(m * 1000, n << 33)[1]));
  kernel.must_give(y, words);
  kernel.must_give(u, uniforms);
}

TEST_CASE("philox: tiles of words") {
  SmallKernel kernel(R"(
    __global__ void f(int *y, int seed, int n) {
      int i[1024] = 0 ... 1024;
      *(y + i) = philox(seed, i >> 2, i & 3);
      *(y + 1024 + i) = philox(seed, n, i - 512);
      *(y + 2048) = philox(seed, n, n);
    })");
  constexpr int n = 7;
  int y = kernel.add_unwritten(Elem::i32, 2049);
  kernel.add(77);
  kernel.add(n);
  std::vector<double> words;
  for (uint64_t i = 0; i < 1024; i++)
    words.push_back(as_stored(philox(77, i / 4)[i % 4]));
  for (size_t i = 0; i < 1024; i++)
    words.push_back(as_stored(philox(77, n)[i % 4]));
  words.push_back(as_stored(philox(77, n)[n % 4]));
  kernel.must_give(y, words);
}

TEST_CASE("uniform: in [0, 1) and evenly distributed") {
  CHECK(uniform(0) == 0);
  CHECK(uniform(0xffffffff) == 0);
  CHECK(uniform(0x7fffffff) < 1);
  CHECK(uniform(0x80000000) < 1);
  constexpr int count = 4096, buckets = 16;
  int in[buckets] = {};
  for (uint64_t i = 0; i < count; i++)
    in[int(uniform(philox(1, i)[0]) * buckets)]++;
  for (int n : in) // 256 each, within five standard deviations
    CHECK(std::abs(n - count / buckets) < 80);
}
