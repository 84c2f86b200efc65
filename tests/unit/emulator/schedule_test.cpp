// Tests runtime/emulator/scheduler.cpp: interleavings, seeds, and loops that poll.

#include "unit/emulator/kernel.h"

#include <doctest/doctest.h>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;

namespace {

// The order in which threads run between two barriers.
std::vector<uint32_t> visitors(Order order, uint64_t seed, int workers = 1, uint32_t block = 0) {
  Kernel k;
  k.options.order = order;
  k.options.seed = seed;
  k.options.workers = workers;
  k.threads = 128;
  k.grid.x = 4;
  uint32_t *count = k.parameter<uint32_t>("count", {0, 0, 0, 0});
  uint32_t *y = k.unwritten<uint32_t>("y", 4 * 128);
  k.run([=](Gpu &gpu) {
    uint32_t b = gpu.ctaid_x();
    gpu.barrier();
    gpu.store(y + 128 * b + gpu.atomic_add(count + b, 1), gpu.tid_x());
    gpu.barrier();
  });
  CHECK(k.reports() == "");
  return {y + 128 * block, y + 128 * block + 128};
}

} // namespace

TEST_CASE("scheduler: forward and reversed order") {
  std::vector<uint32_t> forward = visitors(Order::forward, 0),
                        reversed = visitors(Order::reversed, 0);
  // The last thread to arrive at the barrier continues first, then its warp, then the other warps.
  CHECK(forward[0] == 127);
  CHECK(forward[1] == 96);
  CHECK(forward[31] == 126);
  CHECK(forward[32] == 0);
  CHECK(forward[127] == 95);
  CHECK(reversed[0] == 0);
  CHECK(reversed[1] == 31);
  CHECK(reversed[31] == 1);
  CHECK(reversed[32] == 127);
  CHECK(reversed[127] == 32);
}

TEST_CASE("scheduler: random order depends only on the seed") {
  std::vector<uint32_t> first = visitors(Order::random, 1);
  CHECK(first == visitors(Order::random, 1));
  CHECK(first != visitors(Order::random, 2));
  CHECK(first != visitors(Order::random, 1, 1, 1)); // another block
  CHECK(visitors(Order::random, 1, 1, 3) == visitors(Order::random, 1, 4, 3));
}

TEST_CASE("scheduler: random order interrupts threads") {
  Kernel k;
  k.options.order = Order::random;
  k.threads = 64;
  uint32_t *last = k.parameter<uint32_t>("last", {0});
  uint32_t *changes = k.parameter<uint32_t>("changes", {0});
  k.run([=](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    for (uint32_t n = 0; n < 200; n++)
      if (gpu.atomic_add(last, 0) != i) {
        gpu.atomic_add(changes, 1);
        gpu.atomic_add(last, i - *last);
      }
  });
  CHECK(k.reports() == "");
  CHECK(*changes > 100);
}

TEST_CASE("scheduler: a polling loop lets other threads run") {
  for (Order order : {Order::forward, Order::reversed, Order::random}) {
    Kernel k;
    k.options.order = order;
    k.threads = 96;
    uint32_t *flag = k.parameter<uint32_t>("flag", {0});
    k.run([=](Gpu &gpu) {
      uint32_t i = gpu.tid_x();
      if (i == 40)
        gpu.atomic_add(flag, 1);
      else
        while (gpu.atomic_add(flag, 0) == 0)
          gpu.step();
    });
    CHECK(k.reports() == "");
  }
}

TEST_CASE("scheduler: max_steps ends an endless loop") {
  for (int workers : {1, 3}) {
    Kernel k;
    k.options.workers = workers;
    k.options.max_steps = 200'000;
    k.grid.x = 3;
    k.run([](Gpu &gpu) {
      uint64_t turns = gpu.ctaid_x() == 0 ? 100'000 : UINT64_MAX;
      for (uint64_t i = 0; i < turns; i++)
        gpu.step(8);
    });
    CHECK(k.result.reports.size() == 1);
    CHECK(k.result.reports[0].program == Dim3{1, 0, 0});
    CHECK(k.result.reports[0].text.starts_with(
        "k.tc:8:1: error: a thread has executed more than 200000 loop iterations: raise max_steps "
        "unless the loop is endless [kernel k, program (1, 0, 0), thread "));
  }
}

TEST_CASE("scheduler: allows exactly max_steps") {
  Kernel k;
  k.options.max_steps = 100'000;
  k.run([](Gpu &gpu) {
    for (int i = 0; i < 100'000; i++)
      gpu.step();
  });
  CHECK(k.reports() == "");
  k.run([](Gpu &gpu) {
    for (int i = 0; i < 100'001; i++)
      gpu.step();
  });
  CHECK(k.result.reports.size() == 1);
}
