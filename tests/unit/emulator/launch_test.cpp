// Tests runtime/emulator/emulator.cpp: launch sizes, blocks, workers, early ends, and results.

#include "unit/emulator/kernel.h"

#include <doctest/doctest.h>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;

TEST_CASE("launch: every thread of every block runs once") {
  for (int workers : {1, 4}) {
    Kernel k;
    k.options.workers = workers;
    k.grid = {5, 3, 2};
    k.threads = 64;
    uint32_t *y = k.parameter<uint32_t>("y", std::vector<uint32_t>(30 * 64));
    k.run([=](Gpu &gpu) {
      uint32_t x =
          gpu.ctaid_x() + gpu.nctaid_x() * (gpu.ctaid_y() + gpu.nctaid_y() * gpu.ctaid_z());
      CHECK(gpu.nctaid_z() == 2);
      gpu.atomic_add(y + 64 * x + gpu.tid_x(), 1 + x);
    });
    CHECK(k.reports() == "");
    CHECK(k.result.stats.blocks == 30);
    for (uint32_t i = 0; i < 30 * 64; i++)
      CHECK(y[i] == 1 + i / 64);
  }
}

TEST_CASE("launch: cluster_ctarank of each block") {
  Kernel k;
  k.grid = {4, 4, 1};
  k.cluster = {2, 2, 1};
  uint32_t *y = k.parameter<uint32_t>("y", std::vector<uint32_t>(16));
  k.run([=](Gpu &gpu) {
    if (gpu.tid_x() == 0)
      gpu.store(y + gpu.ctaid_x() + 4 * gpu.ctaid_y(),
                10 * gpu.cluster_nctarank() + gpu.cluster_ctarank());
  });
  CHECK(k.reports() == "");
  for (uint32_t i = 0; i < 16; i++)
    CHECK(y[i] == 40 + i % 2 + 2 * (i / 4 % 2));
}

TEST_CASE("launch: 1024 threads per block") {
  for (Order order : {Order::forward, Order::reversed, Order::random}) {
    Kernel k;
    k.options.order = order;
    k.grid.x = 3;
    k.threads = 1024;
    k.shared_bytes = 4096;
    uint32_t *y = k.unwritten<uint32_t>("y", 3);
    k.run([=](Gpu &gpu) {
      uint32_t i = gpu.tid_x();
      gpu.store_shared<uint32_t>(4 * i, i);
      gpu.barrier();
      for (uint32_t half = 512; half > 0; half /= 2) {
        if (i < half)
          gpu.store_shared<uint32_t>(4 * i, gpu.load_shared<uint32_t>(4 * i) +
                                                gpu.load_shared<uint32_t>(4 * (i + half)));
        gpu.barrier();
      }
      if (i == 0)
        gpu.store(y + gpu.ctaid_x(), gpu.load_shared<uint32_t>(0));
    });
    CHECK(k.reports() == "");
    CHECK(y[2] == 1023 * 512);
  }
}

TEST_CASE("launch: many blocks") {
  Kernel k;
  k.grid = {1000, 10, 1};
  uint32_t *y = k.parameter<uint32_t>("y", {0});
  k.run([=](Gpu &gpu) {
    if (gpu.tid_x() == 0)
      gpu.atomic_add(y, 1);
  });
  CHECK(k.reports() == "");
  CHECK(*y == 10000);
}

TEST_CASE("launch: a block sees no state of the previous block") {
  Kernel k;
  k.options.workers = 1;
  k.grid.x = 2;
  k.shared_bytes = 128;
  k.options.max_reports = 1;
  k.run([](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    if (gpu.ctaid_x() == 0)
      gpu.store_shared<uint32_t>(4 * i, i);
    else if (i == 3)
      gpu.load_shared<uint32_t>(16, 5);
  });
  CHECK(k.reports() == "k.tc:5:1: error: load of 4 bytes at offset 16 of shared memory: the memory "
                       "is uninitialized [kernel k, program (1, 0, 0), thread 3]\n");
}

TEST_CASE("launch: ends with the first faulty block, in any timing") {
  for (int workers : {1, 2, 5}) {
    Kernel k;
    k.options.workers = workers;
    k.grid.x = 100;
    int *x = k.parameter<int>("x", {1});
    k.run([=](Gpu &gpu) {
      uint32_t b = gpu.ctaid_x();
      if (b >= 17 && gpu.tid_x() == b % 32)
        gpu.load(x + b, 9);
    });
    CHECK(k.reports() == "k.tc:9:1: error: load of 4 bytes at byte 68 of `x`, which has 4 bytes "
                         "[kernel k, program (17, 0, 0), thread 17]\n");
  }
}

TEST_CASE("launch: equal reports become one, of the first block") {
  for (int workers : {1, 4}) {
    Kernel k;
    k.options.workers = workers;
    k.grid.x = 100;
    int *x = k.unwritten<int>("x", 200);
    k.run([=](Gpu &gpu) {
      uint32_t b = gpu.ctaid_x();
      if (b >= 3 && gpu.tid_x() == 5) {
        gpu.load(x + b, 7);
        gpu.load(x + 100 + b, 8);
      }
    });
    CHECK(
        k.reports() ==
        "k.tc:7:1: error: load of 4 bytes at byte 12 of `x`: the memory is uninitialized [kernel "
        "k, program (3, 0, 0), thread 5]\n"
        "k.tc:8:1: error: load of 4 bytes at byte 412 of `x`: the memory is uninitialized [kernel "
        "k, program (3, 0, 0), thread 5]\n");
  }
}

TEST_CASE("launch: keeps at most max_reports") {
  Kernel k;
  k.options.max_reports = 2;
  int *x = k.unwritten<int>("x", 8);
  k.run([=](Gpu &gpu) {
    if (gpu.tid_x() == 0)
      for (uint32_t i = 0; i < 5; i++)
        gpu.load(x + i, 10 + i);
  });
  CHECK(k.result.reports.size() == 2);
  CHECK(k.result.stats.more_reports == 3);
}

TEST_CASE("launch: rejects sizes that no GPU supports") {
  Kernel k;
  auto nothing = [](Gpu &) {};
  k.threads = 33;
  k.run(nothing);
  CHECK(k.reports() == "k: error: cannot launch blocks of 33 threads: expected a multiple "
                       "of 32, at most 1024 [kernel k]\n");
  k.threads = 2048;
  k.run(nothing);
  CHECK(k.reports() == "k: error: cannot launch blocks of 2048 threads: expected a multiple "
                       "of 32, at most 1024 [kernel k]\n");
  k.threads = 32;
  k.grid.y = 0;
  k.run(nothing);
  CHECK(k.reports() == "k: error: cannot launch a grid of (1, 0, 1) blocks [kernel k]\n");
  k.grid.y = 1;
  k.shared_bytes = 300'000;
  k.run(nothing);
  CHECK(k.reports() == "k: error: cannot launch blocks with 300000 bytes of shared memory "
                       "[kernel k]\n");
  k.shared_bytes = 0;
  k.cluster.x = 2;
  k.run(nothing);
  CHECK(k.reports() == "k: error: cannot launch clusters of (2, 1, 1) blocks: a cluster has at "
                       "most 16 blocks and must divide the grid [kernel k]\n");
  k.cluster.x = 1;
  k.run(nothing);
  CHECK(k.reports() == "");
}

TEST_CASE("launch: concurrent launches with one memory") {
  Kernel k;
  uint32_t *y = k.parameter<uint32_t>("y", {0});
  k.grid.x = 50;
  k.run([=](Gpu &gpu) {
    if (gpu.tid_x() == 0)
      gpu.store(y, 1u + *y, 4);
  });
  // Programs of one launch race; two sequential launches don't.
  CHECK(k.result.reports.size() == 1);
  k.grid.x = 1;
  k.run([=](Gpu &gpu) {
    if (gpu.tid_x() == 0)
      gpu.store(y, gpu.load(y) + 1);
  });
  CHECK(k.reports() == "");
}

TEST_CASE("launch: a stack overflow hits the guard page") {
  Kernel k;
  k.threads = 64;
  std::function<int(Gpu &, int)> dig = [&](Gpu &gpu, int depth) {
    volatile char hole[1024];
    hole[0] = char(depth);
    return hole[0] + dig(gpu, depth + 1);
  };
  pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    k.options.workers = 1;
    k.run([&](Gpu &gpu) {
      if (gpu.tid_x() == 33)
        dig(gpu, 0);
    });
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
}
