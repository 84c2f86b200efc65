// Tests ops/clusters.cpp: the cluster barrier and access to other blocks' shared memory.

#include "unit/emulator/kernel.h"
#include "unit/emulator/modes.h"
#include "unit/emulator/said.h"

#include <doctest/doctest.h>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;
using doctest::Contains;

namespace {

struct Bench : Kernel {
  explicit Bench(uint32_t blocks = 4) {
    threads = 64;
    shared_bytes = 1024;
    grid = cluster = {blocks, 1, 1};
    options.workers = 1;
  }
};

void meet(Gpu &gpu) {
  gpu.cluster_arrive();
  gpu.cluster_wait();
}

// Runs `body` on a cluster of two blocks in all modes, or in those that find races. `check` sees each
// run, and the `words` of its result.
template <typename Body, typename Check>
void for_two_blocks(bool finds_races, size_t words, Body body, Check check) {
  for (const Options &mode : all_modes()) {
    if (finds_races && !mode.races)
      continue;
    CAPTURE(name_of(mode));
    Bench k(2);
    k.options = mode;
    uint32_t *y = k.unwritten<uint32_t>("y", words);
    k.run([=](Gpu &gpu) { body(gpu, y); });
    check(k, y);
  }
}

} // namespace

TEST_CASE("cluster: blocks exchange words, all modes") {
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Bench k;
    k.options = mode;
    k.grid = {8, 1, 1}; // two clusters
    uint32_t *y = k.unwritten<uint32_t>("y", 8 * 64);
    k.run([=](Gpu &gpu) {
      uint32_t i = gpu.tid_x(), rank = gpu.cluster_ctarank(), block = gpu.ctaid_x();
      gpu.store_shared<uint32_t>(4 * i, 100 * block + i);
      meet(gpu);
      uint32_t other = (rank + 1) % gpu.cluster_nctarank();
      uint32_t value = gpu.load_cluster(gpu.map_shared_rank(gpu.shared_base() + 4 * i, other));
      gpu.store_cluster(gpu.map_shared_rank(gpu.shared_base() + 256 + 4 * i, other), value + 1);
      meet(gpu);
      gpu.store(y + 64 * block + i, gpu.load_shared<uint32_t>(256 + 4 * i));
    });
    CHECK(k.reports() == "");
    for (uint32_t block = 0; block < 8; block++)
      for (uint32_t i = 0; i < 64; i++)
        CHECK(y[64 * block + i] == 100 * block + i + 1); // to the other block and back
  }
}

TEST_CASE("load_cluster_x4: loads four words of another block") {
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Bench k(2);
    k.options = mode;
    uint32_t *y = k.unwritten<uint32_t>("y", 2 * 256);
    k.run([=](Gpu &gpu) {
      uint32_t i = gpu.tid_x(), rank = gpu.cluster_ctarank();
      for (uint32_t word = 0; word < 4; word++)
        gpu.store_shared<uint32_t>(4 * (64 * word + i), 1000 * rank + 64 * word + i);
      meet(gpu);
      auto words = gpu.load_cluster_x4(gpu.map_shared_rank(gpu.shared_base() + 16 * i, 1 - rank));
      for (uint32_t word = 0; word < 4; word++)
        gpu.store(y + 256 * rank + 4 * i + word, words[word]);
      meet(gpu);
    });
    CHECK(k.reports() == "");
    for (uint32_t rank = 0; rank < 2; rank++)
      for (uint32_t i = 0; i < 256; i++)
        CHECK(y[256 * rank + i] == 1000 * (1 - rank) + i);
  }
}

TEST_CASE("load_cluster_x4: checks order and bounds of each word") {
  auto loads = [](uint32_t offset, bool meets, bool all_written = true) {
    Bench k(2);
    k.run([=](Gpu &gpu) {
      uint32_t i = gpu.tid_x(), rank = gpu.cluster_ctarank();
      if (i < (all_written ? 4 : 3))
        gpu.store_shared<uint32_t>(4 * i, i);
      if (meets)
        meet(gpu);
      if (i == 5)
        gpu.load_cluster_x4(gpu.map_shared_rank(gpu.shared_base() + offset, 1 - rank));
      meet(gpu);
    });
    return k.result.ok() ? doctest::String() : said(k);
  };
  CHECK(loads(0, true) == "");
  CHECK(loads(0, false) == Contains("race"));
  CHECK(loads(0, true, false) == Contains("at offset 12 of shared memory of block 1 of the "
                                          "cluster: the memory is uninitialized"));
  CHECK(loads(1008, true) == Contains("the memory is uninitialized"));
  CHECK(loads(8, true) == Contains("which is not a multiple of 16"));
  CHECK(loads(1024, true) == Contains("of 16 bytes at offset 1024 of shared memory of block 1"));
}

TEST_CASE("cluster barrier: reports races when one is missing") {
  enum Missing { before, after, nothing, relaxed };
  for (Missing missing : {before, after, nothing, relaxed}) {
    CAPTURE(int(missing));
    Bench k(2);
    uint32_t *y = k.unwritten<uint32_t>("y", 2 * 64);
    k.run([=](Gpu &gpu) {
      uint32_t i = gpu.tid_x(), rank = gpu.cluster_ctarank();
      gpu.store_shared<uint32_t>(4 * i, i);
      if (missing == relaxed) {
        gpu.cluster_arrive_relaxed();
        gpu.cluster_wait();
      } else if (missing != before) {
        meet(gpu);
      }
      uint32_t there = gpu.map_shared_rank(gpu.shared_base() + 4 * i, 1 - rank);
      gpu.store(y + 64 * rank + i, gpu.load_cluster(there));
      if (missing != after)
        meet(gpu);
    });
    if (missing == nothing)
      CHECK(k.reports() == "");
    else if (missing == after)
      CHECK(said(k) == Contains("load_cluster"));
    else
      CHECK(said(k) == Contains("race"));
  }
}

TEST_CASE("cluster: race when a block ends before remote accesses") {
  // In both orders.
  for (Order order : {Order::forward, Order::reversed}) {
    Bench k(2);
    k.options.order = order;
    k.run([=](Gpu &gpu) {
      uint32_t rank = gpu.cluster_ctarank();
      gpu.store_shared<uint32_t>(4 * gpu.tid_x(), 0);
      meet(gpu);
      if (rank == 0 && gpu.tid_x() == 0)
        gpu.load_cluster(gpu.map_shared_rank(gpu.shared_base(), 1));
    });
    CHECK(k.result.reports.size() == 1);
    CHECK(said(k) == Contains("load_cluster accesses"));
  }
}

TEST_CASE("mbarrier_arrive_cluster: needs fence and cluster barriers") {
  enum Missing { fence, cluster_barrier, last_barrier, nothing };
  for (Missing missing : {nothing, fence, cluster_barrier, last_barrier}) {
    auto body = [=](Gpu &gpu, uint32_t *y) {
      uint32_t i = gpu.tid_x(), rank = gpu.cluster_ctarank();
      uint32_t mbarrier = gpu.shared_base() + 512;
      if (i == 0) {
        gpu.mbarrier_init(mbarrier, 64);
        if (missing != fence)
          gpu.fence_mbarrier_init();
      }
      gpu.barrier();
      if (missing != cluster_barrier) {
        gpu.cluster_arrive_relaxed();
        gpu.cluster_wait();
      }
      gpu.store_cluster(gpu.map_shared_rank(gpu.shared_base() + 4 * i, 1 - rank), i + rank);
      gpu.mbarrier_arrive_cluster(gpu.map_shared_rank(mbarrier, 1 - rank));
      gpu.mbarrier_wait(mbarrier, 0);
      if (i == 0)
        gpu.store(y + rank, gpu.load_shared<uint32_t>(4 * 33));
      if (missing != last_barrier)
        meet(gpu);
    };
    CAPTURE(int(missing));
    for_two_blocks(missing != nothing, 2, body, [=](Bench &k, const uint32_t *y) {
      if (missing == fence || missing == cluster_barrier) {
        CHECK(!k.result.ok());
        return;
      }
      // Each block waits for all arrivals of the other, so the last barrier is not needed.
      CHECK(k.reports() == "");
      CHECK(y[0] == 34);
      CHECK(y[1] == 33);
    });
  }
}

TEST_CASE("store_async_cluster: needs fence, cluster barrier, expected bytes and a wait") {
  enum Missing { fence, cluster_barrier, wait, bytes, nothing };
  for (Missing missing : {nothing, fence, cluster_barrier, wait, bytes}) {
    auto body = [=](Gpu &gpu, uint32_t *y) {
      uint32_t i = gpu.tid_x(), rank = gpu.cluster_ctarank();
      uint32_t mbarrier = gpu.shared_base() + 512;
      if (i == 0) {
        gpu.mbarrier_init(mbarrier, 1);
        if (missing != fence)
          gpu.fence_mbarrier_init();
        gpu.mbarrier_arrive_expect_tx(mbarrier, missing == bytes ? 0 : 8);
      }
      gpu.barrier();
      if (missing != cluster_barrier) {
        gpu.cluster_arrive_relaxed();
        gpu.cluster_wait();
      }
      if (i < 2) // thread i stores to block i
        gpu.store_async_cluster(gpu.map_shared_rank(gpu.shared_base() + 4 * rank, i), 10 * rank + i,
                                gpu.map_shared_rank(mbarrier, i));
      if (missing != wait)
        gpu.mbarrier_wait(mbarrier, 0);
      if (i < 2)
        gpu.store(y + 2 * rank + i, gpu.load_shared<uint32_t>(4 * i));
    };
    CAPTURE(int(missing));
    for_two_blocks(missing != nothing, 4, body, [=](Bench &k, const uint32_t *y) {
      if (missing == fence)
        CHECK(said(k) == Contains("no fence_mbarrier_init follows its mbarrier_init"));
      else if (missing == cluster_barrier)
        CHECK(said(k) == Contains("mbarrier at offset 512 of shared memory of block"));
      else if (missing != nothing)
        CHECK(said(k) == Contains("load of 4 bytes at offset"));
      if (missing != nothing)
        return;
      CHECK(k.reports() == "");
      for (uint32_t rank : {0, 1})
        for (uint32_t from : {0, 1})
          CHECK(y[2 * rank + from] == 10 * from + rank);
    });
  }
}

TEST_CASE("store_async_cluster: the mbarrier is in the block of the word") {
  Bench k(2);
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = gpu.shared_base() + 512;
    if (gpu.tid_x() == 0) {
      gpu.mbarrier_init(mbarrier, 1);
      gpu.fence_mbarrier_init();
    }
    meet(gpu);
    if (gpu.tid_x() == 0)
      gpu.store_async_cluster(gpu.map_shared_rank(gpu.shared_base(), 1), 1,
                              gpu.map_shared_rank(mbarrier, 0));
    meet(gpu);
  });
  CHECK(said(k) == Contains("its mbarrier is not in that block"));
}

TEST_CASE("mbarrier_arrive_cluster: race when no thread waits for it") {
  Bench k(2);
  k.run([=](Gpu &gpu) {
    uint32_t i = gpu.tid_x(), rank = gpu.cluster_ctarank(), mbarrier = gpu.shared_base() + 512;
    if (i == 0) {
      gpu.mbarrier_init(mbarrier, 2);
      gpu.fence_mbarrier_init();
    }
    meet(gpu);
    if (rank == 0 && i == 0)
      gpu.mbarrier_arrive_cluster(gpu.map_shared_rank(mbarrier, 1));
  });
  CHECK(said(k) == Contains("mbarrier_arrive_cluster accesses"));
}

TEST_CASE("cluster barrier: does not wait for exited threads") {
  Bench k(2);
  k.run([=](Gpu &gpu) {
    if (gpu.tid_x() >= 32)
      return;
    meet(gpu);
    meet(gpu);
  });
  CHECK(k.reports() == "");
}

TEST_CASE("cluster barrier: rejects misuse") {
  Bench k(2);
  k.run([=](Gpu &gpu) { gpu.cluster_wait(); });
  CHECK(said(k) == Contains("cluster_wait by a warp that has not arrived"));
  k.run([=](Gpu &gpu) {
    gpu.cluster_arrive();
    gpu.cluster_arrive();
  });
  CHECK(said(k) == Contains("cluster_arrive by a warp that has already arrived"));
  k.run([=](Gpu &gpu) {
    if (gpu.cluster_ctarank() == 0 || gpu.tid_x() >= 32)
      gpu.cluster_arrive();
    else
      gpu.barrier_sync(1, 64); // the block's other warp is not here
    gpu.cluster_wait();
  });
  CHECK(said(k) == Contains("deadlock"));
  CHECK(said(k) == Contains("the cluster barrier"));
}

TEST_CASE("map_shared_rank: rejects invalid ranks and addresses") {
  Bench k(2);
  k.run([=](Gpu &gpu) { gpu.map_shared_rank(gpu.shared_base(), 2); });
  CHECK(said(k) == Contains("the cluster has 2 blocks, but the rank is 2"));
  k.run([=](Gpu &gpu) { gpu.map_shared_rank(16, 1); });
  CHECK(said(k) == Contains("address 0x10 is not in the block's shared memory"));
  k.run([=](Gpu &gpu) { gpu.load_cluster(gpu.map_shared_rank(gpu.shared_base() + 1024, 1)); });
  CHECK(k.result.reports.at(0).kind == Report::Kind::out_of_bounds);
  k.run([=](Gpu &gpu) { gpu.load_cluster(gpu.map_shared_rank(gpu.shared_base() + 2, 1)); });
  CHECK(k.result.reports.at(0).kind == Report::Kind::misaligned);
}
