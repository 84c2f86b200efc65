// Tests ops/device_printf_assert.cpp: print statements and assertions.

#include "unit/emulator/kernel.h"

#include <doctest/doctest.h>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;

TEST_CASE("print: lines in the order of the blocks") {
  for (int workers : {1, 4}) {
    Kernel k;
    std::string printed;
    k.options.workers = workers;
    k.options.order = Order::random;
    k.options.print = [&](std::string_view line) { printed += std::string(line) + "\n"; };
    k.grid.x = 3;
    k.threads = 64;
    k.run([](Gpu &gpu) {
      uint32_t i = gpu.tid_x();
      if (i == 0)
        gpu.print("x = {i32}, y = {i32[2]}", 0, uint32_t(-1), 0, 0);
      if (i == 1)
        gpu.print("x = {i32}, y = {i32[2]}", 0, 0, 0, gpu.ctaid_x());
      if (i == 2 || i == 33)
        gpu.print("x = {i32}, y = {i32[2]}", 0, 1, i / 32, i);
    });
    CHECK(k.reports() == "");
    CHECK(printed == "program (0, 0, 0): x = 0, y = [2, 33]\n"
                     "program (1, 0, 0): x = 1, y = [2, 33]\n"
                     "program (2, 0, 0): x = 2, y = [2, 33]\n");
  }
}

TEST_CASE("assert_fail: ends the launch") {
  Kernel k;
  k.run([](Gpu &gpu) {
    if (gpu.tid_x() == 7)
      gpu.assert_fail("x > 0 at {[4,8]}", "", 0, 11, 12);
  });
  CHECK(k.reports() ==
        "k.tc:12:1: error: x > 0 at (1, 3) [kernel k, program (0, 0, 0), thread 7]\n");
  CHECK(k.result.reports[0].kind == Report::Kind::assertion);
}

TEST_CASE("print: nothing from blocks after the faulty one") {
  Kernel k;
  std::string printed;
  k.options.print = [&](std::string_view line) { printed += std::string(line) + "\n"; };
  k.grid.x = 10;
  k.run([](Gpu &gpu) {
    if (gpu.tid_x() == 0) {
      gpu.print("here", 0, uint32_t(-1), 0, 0);
      if (gpu.ctaid_x() >= 1)
        gpu.assert_fail("no", "", 0, 0, 12);
    }
  });
  CHECK(printed == "program (0, 0, 0): here\nprogram (1, 0, 0): here\n");
  CHECK(k.result.reports.size() == 1);
  CHECK(k.result.reports[0].program == Dim3{1, 0, 0});
}
