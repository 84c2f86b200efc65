// Tests ldmatrix, stmatrix, and mma.sync as operations: addresses, checks, and ordering.
// models_mma_test.cpp tests their arithmetic.

#include "models/fragments.h"
#include "models/numbers.h"
#include "unit/emulator/kernel.h"
#include "unit/emulator/modes.h"
#include "unit/emulator/said.h"

#include <doctest/doctest.h>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;
using doctest::Contains;

TEST_CASE("stmatrix: inverse of ldmatrix") {
  for (bool transposed : {false, true})
    for (const Options &mode : all_modes()) {
      CAPTURE(transposed);
      CAPTURE(name_of(mode));
      Kernel k;
      k.options = mode;
      k.shared_bytes = 4 * 128;
      uint32_t *y = k.unwritten<uint32_t>("y", 32 * 7);
      uint16_t *z = k.unwritten<uint16_t>("z", 256);
      k.run([=](Gpu &gpu) {
        uint32_t lane = gpu.tid_x(), row = gpu.shared_base() + 16 * lane; // one of 32 rows
        Words<4> words;
        for (uint32_t m = 0; m < 4; m++)
          words[m] = (256 * m + lane) | (256 * m + lane + 100) << 16;
        if (transposed)
          gpu.stmatrix_x4_trans(row, words);
        else
          gpu.stmatrix_x4(row, words);
        gpu.warp_sync();
        Words<4> four = transposed ? gpu.ldmatrix_x4_trans(row) : gpu.ldmatrix_x4(row);
        Words<2> two = transposed ? gpu.ldmatrix_x2_trans(row) : gpu.ldmatrix_x2(row);
        uint32_t one = transposed ? gpu.ldmatrix_x1_trans(row) : gpu.ldmatrix_x1(row);
        for (uint32_t m = 0; m < 4; m++)
          gpu.store(y + 7 * lane + m, four[m]);
        for (uint32_t m = 0; m < 2; m++)
          gpu.store(y + 7 * lane + 4 + m, two[m]);
        gpu.store(y + 7 * lane + 6, one);
        for (uint32_t i = lane; i < 256; i += 32)
          gpu.store(z + i, gpu.load_shared<uint16_t>(2 * i));
      });
      CHECK(k.reports() == "");
      uint32_t wrong = 0;
      for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t m = 0; m < 4; m++) {
          uint32_t expected = (256 * m + lane) | (256 * m + lane + 100) << 16;
          wrong += y[7 * lane + m] != expected;
          wrong += m < 2 && y[7 * lane + 4 + m] != expected;
          wrong += m < 1 && y[7 * lane + 6] != expected;
          for (unsigned half = 0; half < 2; half++) {
            models::Place at = models::place_in_8x8(transposed, lane, half);
            wrong +=
                z[64 * m + 8 * at.row + at.column] != (half ? expected >> 16 : expected & 0xffff);
          }
        }
      CHECK(wrong == 0);
    }
}

TEST_CASE("ldmatrix: ignores addresses of unused lanes") {
  Kernel k;
  k.shared_bytes = 128;
  k.run([=](Gpu &gpu) {
    uint32_t lane = gpu.tid_x();
    for (uint32_t i = 0; i < 4; i++)
      gpu.store_shared<uint8_t>(4 * lane + i, 1);
    gpu.barrier();
    gpu.ldmatrix_x1(lane < 8 ? gpu.shared_base() + 16 * lane : 3);
  });
  CHECK(k.reports() == "");
}

TEST_CASE("ldmatrix: misaligned, out-of-bounds, unwritten rows") {
  Kernel k;
  k.shared_bytes = 512;
  auto load = [&](uint32_t first, bool written = true) {
    k.run([=](Gpu &gpu) {
      uint32_t lane = gpu.tid_x();
      for (uint32_t i = 0; i < 4 && written; i++)
        gpu.store_shared<uint32_t>(16 * lane + 4 * i, 0);
      gpu.barrier();
      gpu.ldmatrix_x4(gpu.shared_base() + 16 * lane + first);
    });
    return k.result.ok() ? -1 : int(k.result.reports[0].kind);
  };
  CHECK(load(0) == -1);
  CHECK(load(8) == int(Report::Kind::misaligned));
  CHECK(load(16) == int(Report::Kind::out_of_bounds));
  CHECK(load(0, false) == int(Report::Kind::uninitialized));
  CHECK(said(k) == Contains("ldmatrix_x4 of 16 bytes"));
}

TEST_CASE("ldmatrix, stmatrix: order no accesses") {
  for (bool sync : {true, false}) {
    Kernel k;
    k.shared_bytes = 512;
    k.run([=](Gpu &gpu) {
      uint32_t lane = gpu.tid_x(), row = gpu.shared_base() + 16 * lane;
      gpu.stmatrix_x4(row, {});
      if (sync)
        gpu.warp_sync();
      gpu.ldmatrix_x4(gpu.shared_base() + 16 * (31 - lane));
    });
    if (sync)
      CHECK(k.reports() == "");
    else
      CHECK(said(k) == Contains("race: ldmatrix_x4"));
  }
}

TEST_CASE("mma: one of each family") {
  Kernel k;
  float *sums = k.unwritten<float>("sums", 128);
  uint32_t *integers = k.unwritten<uint32_t>("integers", 128);
  double *doubles = k.unwritten<double>("doubles", 64);
  k.run([=](Gpu &gpu) {
    uint32_t lane = gpu.tid_x();
    // All elements of A are 1, all elements of B are 2: each result is 2 k.
    uint32_t one = 0x3c003c00, two = 0x40004000;
    Vector<float, 4> d =
        gpu.mma_m16n8k16_f16({one, one, one, one}, {two, two}, {1, 1, 1, float(lane)});
    Words<4> i = gpu.mma_m16n8k32_s8({0x01010101, 0x01010101, 0x01010101, 0x01010101},
                                     {0xfefefefe, 0xfefefefe}, {5, 5, 5, 5});
    Vector<double, 2> f = gpu.mma_m8n8k4_f64(1, 2, {0.5, 0.25});
    for (uint32_t e = 0; e < 4; e++) {
      gpu.store(sums + 4 * lane + e, d[e]);
      gpu.store(integers + 4 * lane + e, i[e]);
    }
    gpu.store(doubles + 2 * lane, f[0]);
    gpu.store(doubles + 2 * lane + 1, f[1]);
  });
  CHECK(k.reports() == "");
  for (uint32_t lane = 0; lane < 32; lane++) {
    CHECK(sums[4 * lane] == 33);
    CHECK(sums[4 * lane + 3] == 32 + lane);
    CHECK(int(integers[4 * lane + 2]) == 5 - 64);
    CHECK(doubles[2 * lane] == 8.5);
    CHECK(doubles[2 * lane + 1] == 8.25);
  }
}

TEST_CASE("mma: several records in one call") {
  Kernel k;
  float *sums = k.unwritten<float>("sums", 32);
  k.run([=](Gpu &gpu) {
    std::tuple<Words<4>, Words<2>, Vector<float, 4>> operands[3];
    for (uint32_t i = 0; i < 3; i++)
      operands[i] = {Words<4>{0x3c00, 0, 0, 0}, Words<2>{0x3c00, 0}, {float(10 * i), 0, 0, 0}};
    Vector<float, 4> results[3];
    gpu.mma_m16n8k16_f16.many(operands, results, 3);
    gpu.store(sums + gpu.tid_x(), results[0][0] + results[1][0] + results[2][0]);
  });
  CHECK(k.reports() == "");
  CHECK(sums[0] == 4 * 3 + 30); // columns 0, 2, 4, 6 of A
}
