// Tests race detection in shared and global memory, with races and with similar correct accesses.

#include "unit/emulator/kernel.h"

#include <doctest/doctest.h>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;

namespace {

// Runs a kernel of 64 threads with 256 bytes of shared memory, all written and synchronized. In
// forward order, warp 1 continues first, because it arrived last.
std::string reports_of(std::function<void(Gpu &)> body, Order order = Order::forward) {
  Kernel k;
  k.options.order = order;
  k.threads = 64;
  k.shared_bytes = 256;
  k.buffer("a", 0, 64);
  k.buffer("b", 64, 192);
  k.run([=](Gpu &gpu) {
    gpu.store_shared<int>(4 * gpu.tid_x(), 0);
    gpu.barrier();
    body(gpu);
  });
  return k.reports();
}

} // namespace

TEST_CASE("races: write after read, write after write") {
  CHECK(reports_of([](Gpu &gpu) {
          if (gpu.tid_x() == 40)
            gpu.load_shared<int>(68, 11);
          if (gpu.tid_x() == 3)
            gpu.store_shared<int>(68, 1, 12);
        }) ==
        "k.tc:12:1: error: race: store of 4 bytes at offset 68 of shared memory (byte 4 of `b`) by "
        "thread 3 is not ordered after an earlier read [kernel k, program (0, 0, 0), thread 3]\n"
        "k.tc:11:1: note: the other access: read by thread 40\n");
  CHECK(reports_of([](Gpu &gpu) {
          if (gpu.tid_x() % 32 == 3)
            gpu.store_shared<int>(0, 1, 12);
        }) ==
        "k.tc:12:1: error: race: store of 4 bytes at offset 0 of shared memory (byte 0 of `a`) by "
        "thread 3 is not ordered after an earlier write [kernel k, program (0, 0, 0), thread 3]\n"
        "k.tc:12:1: note: the other access: write by thread 35\n");
}

TEST_CASE("races: none for own accesses, reads, other words, barrier") {
  CHECK(reports_of([](Gpu &gpu) {
          uint32_t i = gpu.tid_x();
          for (int n = 0; n < 3; n++) {
            gpu.load_shared<int>(0);
            gpu.barrier();
            gpu.store_shared<int>(4 * i, gpu.load_shared<int>(4 * i) + 1);
            gpu.barrier();
            gpu.load_shared<int>(4 * (63 - i));
            gpu.barrier();
          }
        }) == "");
}

TEST_CASE("races: a write races with each of several readers") {
  // All threads read; each half synchronizes; one thread reads again; the other half writes.
  for (uint32_t reader = 32; reader < 64; reader++)
    CHECK(reports_of([=](Gpu &gpu) {
            uint32_t i = gpu.tid_x();
            if (i >= 32)
              gpu.load_shared<int>(16, i == reader ? 20 : 21);
            if (i == reader)
              gpu.store_shared<int>(20, 1);
            else if (i >= 32)
              gpu.load_shared<int>(24);
            gpu.warp_sync();
            if (i == 0)
              gpu.store_shared<int>(16, 1, 6);
          }) != "");
  for (uint32_t reader : {32u, 33u, 50u, 63u}) {
    Kernel k;
    k.threads = 64;
    k.shared_bytes = 64;
    k.run([=](Gpu &gpu) {
      uint32_t i = gpu.tid_x();
      if (i == 0)
        gpu.store_shared<int>(16, 0);
      gpu.barrier();
      // Thread 0 comes after all reads but one.
      if (i >= 32)
        gpu.load_shared<int>(16, 5);
      gpu.barrier();
      gpu.barrier(); // so that warp 1 continues first
      if (i == reader)
        gpu.load_shared<int>(16, 6);
      if (i == 0)
        gpu.store_shared<int>(16, 1, 7);
    });
    CHECK(k.reports() ==
          "k.tc:7:1: error: race: store of 4 bytes at offset 16 of shared memory by thread 0 is "
          "not ordered after an earlier read [kernel k, program (0, 0, 0), thread 0]\n"
          "k.tc:6:1: note: the other access: read by thread " +
              std::to_string(reader) + "\n");
  }
}

TEST_CASE("races: none for reads, barrier, write") {
  CHECK(reports_of([](Gpu &gpu) {
          for (int n = 0; n < 5; n++) {
            gpu.load_shared<int>(16);
            gpu.load_shared<int>(16);
            gpu.barrier();
            if (gpu.tid_x() == 7)
              gpu.store_shared<int>(16, n);
            gpu.barrier();
          }
        }) == "");
}

TEST_CASE("races: none for different bytes and halves of a word") {
  CHECK(reports_of([](Gpu &gpu) {
          uint32_t i = gpu.tid_x();
          gpu.store_shared<uint8_t>(i, uint8_t(i));
          gpu.store_shared<uint16_t>(128 + 2 * i, uint16_t(i));
          gpu.barrier();
          gpu.load_shared<uint32_t>(4 * (i % 16));
          gpu.load_shared<uint32_t>(128 + 4 * (i % 32));
          gpu.barrier();
          gpu.store_shared<uint32_t>(4 * i, 0);
        }) == "");
  CHECK(reports_of([](Gpu &gpu) {
          uint32_t i = gpu.tid_x();
          if (i == 32)
            gpu.store_shared<uint16_t>(130, 1, 7);
          if (i == 0)
            gpu.load_shared<uint8_t>(131, 8);
          if (i == 1)
            gpu.load_shared<uint8_t>(129, 9);
        }) ==
        "k.tc:8:1: error: race: load of 1 byte at offset 131 of shared memory (byte 67 of `b`) by "
        "thread 0 is not ordered after an earlier write [kernel k, program (0, 0, 0), thread 0]\n"
        "k.tc:7:1: note: the other access: write by thread 32\n");
  CHECK(reports_of([](Gpu &gpu) {
          uint32_t i = gpu.tid_x();
          if (i == 32)
            gpu.store_shared<uint8_t>(3, 1, 7);
          if (i == 0)
            gpu.load_shared<uint64_t>(0, 8);
        }) ==
        "k.tc:8:1: error: race: load of 1 byte at offset 3 of shared memory (byte 3 of `a`) by "
        "thread 0 is not ordered after an earlier write [kernel k, program (0, 0, 0), thread 0]\n"
        "k.tc:7:1: note: the other access: write by thread 32\n");
}

TEST_CASE("races: atomic operation with a plain access") {
  CHECK(reports_of([](Gpu &gpu) {
          gpu.atomic_add_shared<int>(8, 1);
          gpu.barrier();
          gpu.load_shared<int>(8);
          gpu.barrier();
          gpu.atomic_add_shared<int>(8, 1);
        }) == "");
  CHECK(reports_of([](Gpu &gpu) {
          gpu.atomic_add_shared<int>(8, 1, 4);
          if (gpu.tid_x() == 31)
            gpu.load_shared<int>(8, 5);
        }) ==
        "k.tc:5:1: error: race: load of 4 bytes at offset 8 of shared memory (byte 8 of `a`) by "
        "thread 31 is not ordered after an earlier atomic operation [kernel k, program (0, 0, 0), "
        "thread 31]\n"
        "k.tc:4:1: note: the other access: atomic operation by thread 0\n");
  CHECK(
      reports_of([](Gpu &gpu) {
        if (gpu.tid_x() == 63)
          gpu.load_shared<int>(8, 4);
        if (gpu.tid_x() == 0)
          gpu.atomic_add_shared<int>(8, 1, 5);
      }) ==
      "k.tc:5:1: error: race: atomic operation of 4 bytes at offset 8 of shared memory (byte 8 of "
      "`a`) by thread 0 is not ordered after an earlier read [kernel k, program (0, 0, 0), thread "
      "0]\n"
      "k.tc:4:1: note: the other access: read by thread 63\n");
}

TEST_CASE("races: found in each interleaving") {
  for (Order order : {Order::forward, Order::reversed, Order::random})
    CHECK(reports_of(
              [](Gpu &gpu) {
                uint32_t i = gpu.tid_x();
                gpu.store_shared<int>(4 * i, 1, 4);
                gpu.load_shared<int>(4 * (63 - i), 5);
              },
              order) != "");
}

TEST_CASE("races: not reported when Options::races is off") {
  Kernel k;
  k.options.races = false;
  k.threads = 64;
  k.shared_bytes = 256;
  int *y = k.unwritten<int>("y", 1);
  k.grid.x = 2;
  k.run([=](Gpu &gpu) {
    gpu.store_shared<int>(0, 0);
    gpu.store(y, 1);
  });
  CHECK(k.reports() == "");
}

// ---- global memory ----

namespace {

std::string global_reports(uint32_t blocks, std::function<void(Gpu &, int *)> body,
                           int workers = 1) {
  Kernel k;
  k.options.workers = workers;
  k.threads = 64;
  k.grid.x = blocks;
  int *x = k.parameter<int>("x", std::vector<int>(1024));
  k.run([=](Gpu &gpu) { body(gpu, x); });
  return k.reports();
}

} // namespace

TEST_CASE("global races: threads of one program") {
  CHECK(global_reports(1,
                       [](Gpu &gpu, int *x) {
                         uint32_t i = gpu.tid_x();
                         gpu.store(x + i, 1, 3);
                         if (i == 63)
                           gpu.load(x, 4);
                       }) ==
        "k.tc:4:1: error: race: load at byte 0 of `x` by thread 63 is not ordered after an earlier "
        "write [kernel k, program (0, 0, 0), thread 63]\n"
        "k.tc:3:1: note: the other access: write by thread 0\n");
  CHECK(global_reports(1, [](Gpu &gpu, int *x) {
          uint32_t i = gpu.tid_x();
          for (int n = 0; n < 3; n++) {
            gpu.store(x + i, n);
            gpu.barrier();
            gpu.load(x + 63 - i);
            gpu.load(x);
            gpu.barrier();
          }
        }) == "");
}

TEST_CASE("global races: programs of one launch") {
  CHECK(global_reports(2,
                       [](Gpu &gpu, int *x) {
                         if (gpu.tid_x() == 5)
                           gpu.store(x + 1, 1, 3);
                       }) ==
        "k.tc:3:1: error: race: store at byte 4 of `x` by thread 5 is not ordered after an earlier "
        "write by another program of the launch [kernel k, program (1, 0, 0), thread 5]\n"
        "k.tc:3:1: note: the other access: write by another program\n");
  CHECK(global_reports(3,
                       [](Gpu &gpu, int *x) {
                         if (gpu.ctaid_x() < 2)
                           gpu.load(x + 1, 3);
                         else if (gpu.tid_x() == 0)
                           gpu.store(x + 1, 1, 4);
                       }) ==
        "k.tc:4:1: error: race: store at byte 4 of `x` by thread 0 is not ordered after an earlier "
        "read by another program of the launch [kernel k, program (2, 0, 0), thread 0]\n"
        "k.tc:3:1: note: the other access: read by another program\n");
  CHECK(global_reports(2,
                       [](Gpu &gpu, int *x) {
                         if (gpu.tid_x() == 0 && gpu.ctaid_x() == 0)
                           gpu.store(x + 1, 1, 4);
                         if (gpu.tid_x() == 0 && gpu.ctaid_x() == 1)
                           gpu.load(x + 1, 5);
                       }) ==
        "k.tc:5:1: error: race: load at byte 4 of `x` by thread 0 is not ordered after an earlier "
        "write by another program of the launch [kernel k, program (1, 0, 0), thread 0]\n"
        "k.tc:4:1: note: the other access: write by another program\n");
}

TEST_CASE("global races: write after reads by several programs") {
  CHECK(global_reports(2,
                       [](Gpu &gpu, int *x) {
                         if (gpu.ctaid_x() == 0) {
                           if (gpu.tid_x() == 0)
                             gpu.load(x, 3);
                         } else if (gpu.tid_x() == 1) {
                           gpu.load(x, 4);
                           gpu.store(x, 1, 5);
                         }
                       }) ==
        "k.tc:5:1: error: race: store at byte 0 of `x` by thread 1 is not ordered after an earlier "
        "read by another program of the launch [kernel k, program (1, 0, 0), thread 1]\n"
        "k.tc:3:1: note: the other access: read by another program\n");
}

TEST_CASE("global races: none for reads, separate writes, atomics") {
  for (int workers : {1, 3})
    CHECK(global_reports(
              20,
              [](Gpu &gpu, int *x) {
                uint32_t i = gpu.tid_x(), b = gpu.ctaid_x();
                gpu.load(x + i);
                gpu.load(x);
                gpu.barrier();
                gpu.load(x + 63 - i);
                gpu.atomic_add(x + 64, 1);
                // The halves of a word belong to different programs.
                if (i == 0)
                  gpu.store(reinterpret_cast<uint16_t *>(x + 65) + b, 1);
                gpu.barrier();
                if (i == 1)
                  gpu.load(reinterpret_cast<uint16_t *>(x + 65) + b);
              },
              workers) == "");
}

TEST_CASE("global races: atomic operation with another program's read") {
  CHECK(global_reports(2,
                       [](Gpu &gpu, int *x) {
                         if (gpu.ctaid_x() == 0)
                           gpu.atomic_add(x, 1, 3);
                         else if (gpu.tid_x() == 0)
                           gpu.load(x, 4);
                       }) ==
        "k.tc:4:1: error: race: load at byte 0 of `x` by thread 0 is not ordered after an earlier "
        "atomic operation by another program of the launch [kernel k, program (1, 0, 0), thread "
        "0]\n"
        "k.tc:3:1: note: the other access: atomic operation by another program\n");
}

TEST_CASE("global races: halves of a word") {
  CHECK(global_reports(2,
                       [](Gpu &gpu, int *x) {
                         auto *halves = reinterpret_cast<uint16_t *>(x);
                         if (gpu.tid_x() == 0)
                           gpu.store(halves + gpu.ctaid_x(), 1, 3);
                         if (gpu.ctaid_x() == 1 && gpu.tid_x() == 1)
                           gpu.load(halves, 4);
                       }) ==
        "k.tc:4:1: error: race: load at byte 0 of `x` by thread 1 is not ordered after an earlier "
        "write by another program of the launch [kernel k, program (1, 0, 0), thread 1]\n"
        "k.tc:3:1: note: the other access: write by another program\n");
}
