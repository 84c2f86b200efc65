// Tests ops/reductions.cpp: atomic additions of packed f16 and bf16.

#include "unit/emulator/kernel.h"

#include <doctest/doctest.h>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;

TEST_CASE("red_add: many threads add to two halves") {
  for (int workers : {1, 3}) {
    Kernel k;
    k.options.workers = workers;
    k.grid.x = 8;
    uint32_t *f16 = k.parameter<uint32_t>("f16", {0});
    uint32_t *bf16 = k.parameter<uint32_t>("bf16", {0x3f80'0000});
    k.run([=](Gpu &gpu) {
      gpu.red_add_f16x2(f16, 0x3c00'4000);   // 1 and 2
      gpu.red_add_bf16x2(bf16, 0x3f80'0000); // 1 and 0
    });
    CHECK(k.reports() == "");
    CHECK(*f16 == 0x5c00'6000);  // 256 and 512
    CHECK(*bf16 == 0x4380'0000); // bf16 cannot represent 257
  }
}

TEST_CASE("red_add: rejects an out-of-bounds address") {
  Kernel k;
  uint32_t *x = k.parameter<uint32_t>("x", {0});
  k.run([=](Gpu &gpu) { gpu.red_add_f16x2(x + 1, 0, 6); });
  CHECK(k.reports() == "k.tc:6:1: error: atomic operation of 4 bytes at byte 4 of `x`, which has 4 "
                       "bytes [kernel k, program (0, 0, 0), thread 0]\n");
  k.run([=](Gpu &gpu) { gpu.red_add_f16x2(reinterpret_cast<char *>(x) + 2, 0, 6); });
  CHECK(k.result.reports.size() == 1);
}
