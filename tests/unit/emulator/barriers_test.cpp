// Tests ops/barriers.cpp: which threads wait, which accesses are ordered, and deadlocks.

#include "unit/emulator/kernel.h"

#include <doctest/doctest.h>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;

TEST_CASE("barrier: all threads of a block wait for each other") {
  for (Order order : {Order::forward, Order::reversed, Order::random}) {
    Kernel k;
    k.options.order = order;
    k.threads = 128;
    k.shared_bytes = 512;
    int *y = k.unwritten<int>("y", 128);
    k.run([=](Gpu &gpu) {
      uint32_t i = gpu.tid_x();
      gpu.store_shared<int>(4 * i, int(i));
      gpu.barrier();
      gpu.store(y + i, gpu.load_shared<int>(4 * (127 - i)));
    });
    CHECK(k.reports() == "");
    for (int i = 0; i < 128; i++)
      CHECK(y[i] == 127 - i);
  }
}

TEST_CASE("barrier_sync: a subset of the warps") {
  Kernel k;
  k.threads = 128;
  k.shared_bytes = 512;
  k.run([=](Gpu &gpu) {
    uint32_t i = gpu.tid_x(), half = i / 64;
    for (int round = 0; round < 3; round++) {
      gpu.store_shared<int>(4 * i, round);
      gpu.barrier_sync(1 + half, 64);
      gpu.load_shared<int>(4 * (half * 64 + (i + 1) % 64));
      gpu.barrier_sync(1 + half, 64);
    }
  });
  CHECK(k.reports() == "");
}

TEST_CASE("barrier_sync: does not order threads that did not arrive") {
  Kernel k;
  k.threads = 128;
  k.shared_bytes = 512;
  k.run([=](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    gpu.store_shared<int>(4 * i, 1, 5);
    gpu.barrier_sync(1 + i / 64, 64);
    if (i == 64)
      gpu.load_shared<int>(0, 7);
  });
  CHECK(k.reports() ==
        "k.tc:7:1: error: race: load of 4 bytes at offset 0 of shared memory by thread 64 is not "
        "ordered after an earlier write [kernel k, program (0, 0, 0), thread 64]\n"
        "k.tc:5:1: note: the other access: write by thread 0\n");
}

TEST_CASE("barrier_arrive: does not wait, but releases") {
  Kernel k;
  k.threads = 64;
  k.shared_bytes = 128;
  int *y = k.unwritten<int>("y", 32);
  k.run([=](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    if (i < 32) {
      gpu.barrier_sync(3, 64);
      gpu.store(y + i, gpu.load_shared<int>(4 * i));
    } else {
      gpu.store_shared<int>(4 * (i - 32), int(i));
      gpu.barrier_arrive(3, 64);
    }
  });
  CHECK(k.reports() == "");
  CHECK(y[5] == 37);
}

TEST_CASE("barrier_arrive: does not acquire") {
  Kernel k;
  k.options.order = Order::reversed;
  k.threads = 64;
  k.shared_bytes = 128;
  k.run([=](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    if (i < 32) {
      gpu.barrier_arrive(3, 64);
      if (i == 0)
        gpu.load_shared<int>(0, 9);
    } else {
      if (i == 32)
        gpu.store_shared<int>(0, 1, 10);
      gpu.barrier_sync(3, 64);
    }
  });
  CHECK(k.reports() ==
        "k.tc:9:1: error: race: load of 4 bytes at offset 0 of shared memory by thread 0 is not "
        "ordered after an earlier write [kernel k, program (0, 0, 0), thread 0]\n"
        "k.tc:10:1: note: the other access: write by thread 32\n");
}

TEST_CASE("warp_sync: orders only the threads of the warp") {
  Kernel k;
  k.threads = 64;
  k.shared_bytes = 256;
  k.run([=](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    gpu.store_shared<int>(4 * i, 1);
    gpu.warp_sync();
    gpu.load_shared<int>(4 * (i ^ 1));
  });
  CHECK(k.reports() == "");
  k.run([=](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    gpu.store_shared<int>(4 * i, 1, 3);
    gpu.warp_sync();
    if (i == 32)
      gpu.load_shared<int>(0, 4);
  });
  CHECK(k.reports() ==
        "k.tc:4:1: error: race: load of 4 bytes at offset 0 of shared memory by thread 32 is not "
        "ordered after an earlier write [kernel k, program (0, 0, 0), thread 32]\n"
        "k.tc:3:1: note: the other access: write by thread 0\n");
}

TEST_CASE("barrier: deadlock when a warp does not arrive") {
  Kernel k;
  k.threads = 128;
  k.run([](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    if (i < 64)
      gpu.barrier(31);
  });
  CHECK(k.reports() == "k.tc:31:1: error: deadlock: no thread can continue [kernel k, program (0, "
                       "0, 0)]\n"
                       "k.tc:31:1: note: 64 threads (0-63) wait at the barrier\n"
                       "k.tc:31:1: note: 64 threads (64-127) have exited\n");
}

TEST_CASE("barrier: deadlock when threads wait at different barriers") {
  Kernel k;
  k.threads = 96;
  k.run([](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    if (i < 32)
      gpu.barrier(31);
    else if (i < 64)
      gpu.barrier_sync(1, 64, 35);
    else
      gpu.barrier_sync(2, 64, 36);
  });
  CHECK(k.reports() == "k.tc:31:1: error: deadlock: no thread can continue [kernel k, program (0, "
                       "0, 0)]\n"
                       "k.tc:31:1: note: 32 threads (0-31) wait at the barrier\n"
                       "k.tc:35:1: note: 32 threads (32-63) wait at barrier 1 for 64 threads\n"
                       "k.tc:36:1: note: 32 threads (64-95) wait at barrier 2 for 64 threads\n");
}

TEST_CASE("barrier_sync: rejects invalid operands") {
  Kernel k;
  k.threads = 64;
  k.run([](Gpu &gpu) { gpu.barrier_sync(16, 64, 3); });
  CHECK(k.reports() == "k.tc:3:1: error: unknown barrier 16: a block has barriers 0 to 15 [kernel "
                       "k, program (0, 0, 0), thread 0]\n");
  k.run([](Gpu &gpu) { gpu.barrier_sync(1, 96, 3); });
  CHECK(k.reports() ==
        "k.tc:3:1: error: barrier 1 with 96 threads: expected a multiple of 32, at most the 64 "
        "threads of the block [kernel k, program (0, 0, 0), thread 0]\n");
  k.run([](Gpu &gpu) { gpu.barrier_sync(1, gpu.tid_x() < 32 ? 64 : 32, 3); });
  CHECK(k.reports() == "k.tc:3:1: error: barrier 1 with 32 threads, but other threads wait at it "
                       "for 64 threads [kernel k, program (0, 0, 0), thread 32]\n");
  k.run([](Gpu &gpu) { gpu.barrier_sync(gpu.tid_x() % 2, 64, 3); });
  CHECK(k.reports() ==
        "k.tc:3:1: error: barrier 1 with 64 threads, but thread 0 of the warp is at barrier 0 with "
        "64 threads [kernel k, program (0, 0, 0), thread 1]\n");
}
