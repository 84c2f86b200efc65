// Tests ops/shuffle.cpp: shuffles, votes, elections, and the rendezvous of a warp.

#include "unit/emulator/kernel.h"

#include "ops/shuffle.h"

#include <doctest/doctest.h>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;

namespace {

// The result of each of 32 threads.
std::vector<uint32_t> of_lanes(std::function<uint32_t(Gpu &)> what) {
  Kernel k;
  uint32_t *y = k.unwritten<uint32_t>("y", 32);
  k.run([=](Gpu &gpu) {
    uint32_t got = what(gpu);
    gpu.store(y + gpu.tid_x(), got);
  });
  CHECK(k.reports() == "");
  return {y, y + 32};
}

} // namespace

TEST_CASE("shuffle: bfly, idx, up, down") {
  auto bfly = of_lanes([](Gpu &gpu) { return gpu.shfl_bfly(100 + gpu.tid_x(), 5); });
  auto idx = of_lanes([](Gpu &gpu) { return gpu.shfl_idx(100 + gpu.tid_x(), gpu.tid_x() / 8); });
  auto up = of_lanes([](Gpu &gpu) { return gpu.shfl_up(100 + gpu.tid_x(), 3); });
  auto down = of_lanes([](Gpu &gpu) { return gpu.shfl_down(100 + gpu.tid_x(), 3); });
  for (uint32_t lane = 0; lane < 32; lane++) {
    CHECK(bfly[lane] == 100 + (lane ^ 5));
    CHECK(idx[lane] == 100 + lane / 8);
    CHECK(up[lane] == 100 + (lane < 3 ? lane : lane - 3));
    CHECK(down[lane] == 100 + (lane > 28 ? lane : lane + 3));
  }
}

TEST_CASE("shuffle: several records in one call") {
  Kernel k;
  uint32_t *y = k.unwritten<uint32_t>("y", 96);
  k.run([=](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    std::tuple<uint32_t, uint32_t> operands[3] = {{i, 1}, {10 * i, 2}, {i, 4}};
    uint32_t results[3];
    gpu.shfl_bfly.many(operands, results, 3);
    for (uint32_t j = 0; j < 3; j++)
      gpu.store(y + 3 * i + j, results[j]);
  });
  CHECK(k.reports() == "");
  CHECK(y[3 * 7] == 6);
  CHECK(y[3 * 7 + 1] == 50);
  CHECK(y[3 * 7 + 2] == 3);
}

TEST_CASE("vote, elect: results") {
  CHECK(of_lanes([](Gpu &gpu) { return gpu.ballot(gpu.tid_x() % 4 == 0); })[9] == 0x11111111);
  CHECK(of_lanes([](Gpu &gpu) { return gpu.vote_any(gpu.tid_x() == 31); })[0] == 1);
  CHECK(of_lanes([](Gpu &gpu) { return gpu.vote_any(gpu.tid_x() == 32); })[0] == 0);
  CHECK(of_lanes([](Gpu &gpu) { return gpu.vote_all(gpu.tid_x() < 32); })[0] == 1);
  CHECK(of_lanes([](Gpu &gpu) { return gpu.vote_all(gpu.tid_x() < 31); })[0] == 0);
  auto elected = of_lanes([](Gpu &gpu) { return gpu.elect(); });
  CHECK(elected[0] == 1);
  for (uint32_t lane = 1; lane < 32; lane++)
    CHECK(elected[lane] == 0);
}

TEST_CASE("shuffle: orders no accesses") {
  Kernel k;
  k.shared_bytes = 128;
  k.run([=](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    gpu.store_shared<int>(4 * i, 1, 3);
    gpu.shfl_bfly(0, 1);
    if (i == 1)
      gpu.load_shared<int>(0, 4);
  });
  CHECK(k.reports() ==
        "k.tc:4:1: error: race: load of 4 bytes at offset 0 of shared memory by thread 1 is not "
        "ordered after an earlier write [kernel k, program (0, 0, 0), thread 1]\n"
        "k.tc:3:1: note: the other access: write by thread 0\n");
}

TEST_CASE("divergence: different operations in a warp") {
  Kernel k;
  k.run([](Gpu &gpu) {
    if (gpu.tid_x() < 16)
      gpu.shfl_bfly(0, 1, 3);
    else
      gpu.ballot(0, 5);
  });
  CHECK(k.reports() ==
        "k.tc:5:1: error: thread 16 is at ballot while other threads of its warp are at shfl_bfly: "
        "all of these threads must execute the same operation together [kernel k, program (0, 0, "
        "0), thread 16]\n"
        "k.tc:3:1: note: the other operation is here\n");
}

TEST_CASE("divergence: the same operation at different sites") {
  Kernel k;
  k.run([](Gpu &gpu) {
    if (gpu.tid_x() < 16)
      gpu.barrier(3);
    else
      gpu.barrier(5);
  });
  CHECK(k.reports() ==
        "k.tc:5:1: error: thread 16 is at barrier while other threads of its warp are at barrier: "
        "all of these threads must execute the same operation together [kernel k, program (0, 0, "
        "0), thread 16]\n"
        "k.tc:3:1: note: the other operation is here\n");
}

TEST_CASE("divergence: different numbers of records") {
  Kernel k;
  k.run([](Gpu &gpu) {
    std::tuple<uint32_t, uint32_t> operands[2] = {};
    uint32_t results[2];
    gpu.shfl_bfly.many(operands, results, gpu.tid_x() == 31 ? 2 : 1, 3);
  });
  CHECK(k.reports() ==
        "k.tc:3:1: error: threads of a warp execute shfl_bfly different numbers of times: 1 and 2 "
        "[kernel k, program (0, 0, 0), thread 31]\n"
        "k.tc:3:1: note: the other operation is here\n");
}

TEST_CASE("divergence: exited threads") {
  auto missing = [](Order order) {
    Kernel k;
    k.options.order = order;
    k.run([](Gpu &gpu) {
      uint32_t i = gpu.tid_x();
      if (i < 4 || i == 8)
        return;
      gpu.shfl_bfly(0, 1, 4);
    });
    return k.reports();
  };
  // Either the first arriving thread finds exited threads, or an exiting thread finds waiting ones.
  CHECK(missing(Order::forward) == "k.tc:4:1: error: shfl_bfly needs all threads of a warp, but "
                                   "threads 0-3 have exited [kernel k, program (0, 0, 0), thread "
                                   "4]\n");
  CHECK(missing(Order::reversed) == "k.tc:4:1: error: shfl_bfly needs all threads of a warp, but "
                                    "thread 8 has exited [kernel k, program (0, 0, 0), thread "
                                    "9]\n");
}
